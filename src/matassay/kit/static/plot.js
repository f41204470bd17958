// A diagram with a cursor and zoom. The zoom shown is the server's (`view`); here it is only asked for.
import { draw, extent, layout, lowerBound, rises } from "./chart.js";
import { follow, h, nameOf, setText, wheelClicks } from "./dom.js";

const WHEEL_ZOOM = 1.25;
const BAND_PX = 5;                 // a drag shorter than this in one direction leaves that axis alone

export function plot(node, send) {
  const zooms = !node.on.length || node.on.includes("zoom");
  const base = h("canvas", { "aria-hidden": "true" }), over = h("canvas", { "aria-hidden": "true", class: "over" });
  const face = h("div", { class: "face", role: "img", tabindex: 0, "aria-label": nameOf(node) }, base, over);
  const cursor = h("output", { class: "cursor", "aria-live": "off", "aria-label": `${node.label} cursor` });
  const legend = h("span", { class: "legend" }, ...(node.series ?? []).map((name, i) => {
    const key = h("span", { class: "swatch" });
    key.style.background = `var(--series-${i % 6 + 1})`;
    return h("span", {}, key, name);
  }));
  const title = h("span", { class: "title" });
  const el = h("figure", { class: "plot" }, h("figcaption", {}, h("span", { class: "caption" }, node.label ?? ""), title, legend, cursor), face);
  // Drawing in software: no graphics card, no difference between machines' roundings of it.
  const g = base.getContext("2d", { alpha: false, willReadFrequently: true }), o = over.getContext("2d", { willReadFrequently: true });
  const state = { xlim: null, ylim: null, log: false, marks: [], view: null };
  let rows = [], frame = null, theme = null, pointer = null, band = null, asked = null;

  function kind() {
    return state.log === "sqrt" ? "sqrt" : state.log ? "log" : "linear";
  }

  /** Full range, without zoom. */
  function home() {
    const auto = extent(rows, kind());
    const [x0, x1] = state.xlim ?? [auto.x0, auto.x1], [y0, y1] = state.ylim ?? [auto.y0, auto.y1];
    return [x0, x1, y0, y1];
  }

  function redraw() {
    const width = face.clientWidth, height = face.clientHeight;
    if (!width || !height) return;                    // on a page that was never laid out
    const ratio = devicePixelRatio;
    for (const canvas of [base, over]) {
      if (canvas.width === Math.round(width * ratio) && canvas.height === Math.round(height * ratio)) continue;
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    theme = colours(face);
    const [x0, x1, y0, y1] = state.view ?? home();
    frame = layout(width, height, { x0, x1, y0, y1, kind: kind() });
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    draw(g, frame, { rows, titles: { x: node.x, y: node.y }, marks: state.marks, theme, style: node.style });
    overlay();
    face.setAttribute("aria-description", describe());
  }

  function describe() {
    const { x, y } = frame, n = rows[0]?.length ?? 0;
    return `${node.x ?? "x"}: ${x.text(x.lo)} to ${x.text(x.hi)}; ${node.y ?? "y"} (${y.kind}): ${y.text(y.lo)} to ${y.text(y.hi)}; `
      + `${Math.max(rows.length - 1, 0)} series of ${n} points${state.view ? "; zoomed" : ""}`;
  }

  const inside = p => p && p.x >= frame.x.start && p.x <= frame.x.end && p.y >= frame.y.end && p.y <= frame.y.start;

  /** Index of the sample nearest to the pointer, or -1. */
  function nearest(value) {
    const xs = rows[0];
    if (!xs?.length || !rises(xs)) return -1;
    const i = lowerBound(xs, value);
    return i > 0 && (i === xs.length || value - xs[i - 1] < xs[i] - value) ? i - 1 : i;
  }

  /** Cursor and rubber band, on a canvas of their own: moving the mouse leaves the diagram alone. */
  function overlay() {
    const ratio = devicePixelRatio;
    o.setTransform(ratio, 0, 0, ratio, 0, 0);
    o.clearRect(0, 0, over.width, over.height);
    if (band) {
      const { x, y, width, height } = bandBox();
      o.fillStyle = theme.band;
      o.fillRect(x, y, width, height);
      o.strokeStyle = theme.cursor;
      o.setLineDash([]);
      o.strokeRect(Math.round(x) + 0.5, Math.round(y) + 0.5, Math.round(width), Math.round(height));
    }
    if (!inside(pointer)) return setText(cursor, "");
    const { x, y } = frame;
    o.strokeStyle = theme.cursor;
    o.lineWidth = 1;
    o.setLineDash([2, 2]);
    o.beginPath();
    o.moveTo(Math.round(pointer.x) + 0.5, y.end);
    o.lineTo(Math.round(pointer.x) + 0.5, y.start);
    o.moveTo(x.start, Math.round(pointer.y) + 0.5);
    o.lineTo(x.end, Math.round(pointer.y) + 0.5);
    o.stroke();
    o.setLineDash([]);
    const i = nearest(x.value(pointer.x));
    if (i < 0) return setText(cursor, `${x.text(x.value(pointer.x))}, ${y.text(y.value(pointer.y))}`);
    const values = rows.slice(1).map((row, k) => {
      if (!Number.isNaN(row[i])) {
        o.strokeStyle = theme.series[k % theme.series.length];
        o.beginPath();
        o.arc(x.pixel(rows[0][i]), y.pixel(row[i]), 4, 0, 2 * Math.PI);
        if (row[i] >= y.lo && row[i] <= y.hi && rows[0][i] >= x.lo && rows[0][i] <= x.hi) o.stroke();
      }
      return Number.isNaN(row[i]) ? "–" : short(row[i]);
    });
    setText(cursor, `x ${x.text(rows[0][i])}   y ${values.join("  ")}`);
  }

  function bandBox() {
    const { from, to } = band, { x, y } = frame;
    const wide = Math.abs(to.x - from.x) >= BAND_PX, high = Math.abs(to.y - from.y) >= BAND_PX;
    const left = wide ? Math.min(from.x, to.x) : x.start, right = wide ? Math.max(from.x, to.x) : x.end;
    const top = high ? Math.min(from.y, to.y) : y.end, bottom = high ? Math.max(from.y, to.y) : y.start;
    return { x: left, y: top, width: right - left, height: bottom - top, empty: !wide && !high, wide, high };
  }

  const at = event => {
    const box = face.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const held = p => ({
    x: Math.min(Math.max(p.x, frame.x.start), frame.x.end), y: Math.min(Math.max(p.y, frame.y.end), frame.y.start),
  });

  function ask(view) {
    asked = view;
    if (view.length === 4 && !(view.every(Number.isFinite) && view[0] < view[1] && view[2] < view[3])) return;
    send(view.map(v => Number(v.toPrecision(9))), "zoom");
  }

  /** Zoom of x about a value; several clicks before the next commit add up. */
  function zoomX(centre, factor) {
    const [x0, x1, y0, y1] = asked?.length ? asked : [frame.x.lo, frame.x.hi, frame.y.lo, frame.y.hi];
    ask([centre - (centre - x0) * factor, centre + (x1 - centre) * factor, y0, y1]);
  }

  face.addEventListener("pointermove", event => {
    if (!frame) return;
    pointer = at(event);
    overlay();
  });
  face.addEventListener("pointerleave", () => {
    pointer = null;
    if (frame) overlay();
  });
  if (zooms) {
    const memory = {};
    face.addEventListener("wheel", event => {
      event.preventDefault();
      const clicks = wheelClicks(event, memory), p = at(event);
      if (frame && clicks) zoomX(frame.x.value(held(p).x), WHEEL_ZOOM ** clicks);
    }, { passive: false });
    face.addEventListener("dblclick", () => ask([]));
    face.addEventListener("pointerdown", event => {
      if (event.button || !frame || !inside(at(event))) return;
      const from = at(event);
      face.focus({ focusVisible: false });
      event.preventDefault();
      follow(face, event, e => {
        band = { from, to: held(at(e)) };
        overlay();
      }, (e, cancelled) => {
        if (band && !cancelled) {
          const box = bandBox(), { x, y } = frame;
          if (!box.empty) {
            ask([
              box.wide ? x.value(box.x) : x.lo, box.wide ? x.value(box.x + box.width) : x.hi,
              box.high ? y.value(box.y + box.height) : y.lo, box.high ? y.value(box.y) : y.hi,
            ]);
          }
        }
        band = null;
        overlay();
      });
    });
  }
  face.addEventListener("keydown", event => {
    if (!frame) return;
    const { x, y } = frame, middle = { x: Math.round((x.start + x.end) / 2), y: Math.round((y.start + y.end) / 2) };
    const from = inside(pointer) ? pointer : middle, reach = event.shiftKey ? 20 : 1;
    const step = { ArrowLeft: [-reach, 0], ArrowRight: [reach, 0], ArrowUp: [0, -reach], ArrowDown: [0, reach] }[event.key];
    const zoom = { "+": 1 / WHEEL_ZOOM, "-": WHEEL_ZOOM, PageUp: 1 / WHEEL_ZOOM, PageDown: WHEEL_ZOOM }[event.key];
    if (step) {
      pointer = held({ x: from.x + step[0], y: from.y + step[1] });
      overlay();
    } else if (zoom && zooms) zoomX(x.value(from.x), zoom);
    else if (event.key === "Home" && zooms) ask([]);
    else return;
    event.preventDefault();
  });
  // Runs after layout and before paint, so a resized diagram is never shown stretched.
  new ResizeObserver(redraw).observe(face);

  return {
    el,
    control: face,
    frame(f) {
      if (!f.rows) return;
      rows = f.rows;
      redraw();
    },
    set(p) {
      for (const key of Object.keys(state)) if (key in p) state[key] = p[key];
      if (!Array.isArray(state.marks)) state.marks = [];
      if ("title" in p) setText(title, String(p.title ?? ""));
      if ("view" in p) asked = null;
      redraw();
    },
  };
}

/** A measured value: counts as they are, other numbers to six digits. */
const short = v => Number.isInteger(v) && Math.abs(v) < 1e7 ? String(v) : String(Number(v.toPrecision(6)));

function colours(el) {
  const css = getComputedStyle(el), get = name => css.getPropertyValue(`--${name}`).trim();
  return {
    outside: get("plot-outside"), inside: get("plot-inside"), grid: get("plot-grid"), minor: get("plot-minor"), axis: get("plot-axis"),
    text: get("plot-text"), title: get("ink"), mark: get("plot-mark"), cursor: get("plot-cursor"), band: get("plot-band"),
    series: [1, 2, 3, 4, 5, 6].map(i => get(`series-${i}`)),
    font: `11px ${get("font")}`, bold: `bold 11px ${get("font")}`,
  };
}
