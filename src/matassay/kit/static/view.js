// A live image. What the operator does on it is reported in image pixels; shapes on top come from the server.
import { clamp, follow, h, nameOf, svg, wheelClicks } from "./dom.js";

const DRAG_PX = 4;                 // screen px before a press becomes a drag
const PAN_STEP = 16;               // image px a key press

export function view(node, send) {
  const [width, height] = node.size ?? [512, 512];
  const can = gesture => node.on.includes(gesture);
  const image = h("canvas", { width, height, "aria-hidden": "true" });
  const overlay = svg("svg", { "aria-hidden": "true" });
  const halo = svg("path", { class: "halo" }), lines = svg("path", { class: "lines" }), texts = svg("g");
  const hand = svg("path", { class: "hand" });         // rubber band and keyboard cursor: the operator's, not the server's
  overlay.append(halo, lines, texts, hand);
  const el = h("div", { class: "view", role: "application", tabindex: 0, "aria-label": nameOf(node), "aria-roledescription": "image" }, image, overlay);
  el.style.width = `${width}px`;
  el.style.height = `${height}px`;
  const g = image.getContext("2d", { alpha: false, willReadFrequently: true });
  let shapes = [], corner = null, key = null;          // key: the keyboard's cursor, in image pixels

  /** Where the image lies in the element: as large as fits, centred. */
  function fit() {
    const w = el.clientWidth, t = el.clientHeight, scale = Math.min(w / width, t / height) || 1;
    return { scale, left: (w - width * scale) / 2, top: (t - height * scale) / 2 };
  }

  const tenth = v => Math.round(v * 10) / 10;

  /** Image pixels under the pointer. */
  function at(event) {
    const box = el.getBoundingClientRect(), { scale, left, top } = fit();
    return [(event.clientX - box.left - el.clientLeft - left) / scale, (event.clientY - box.top - el.clientTop - top) / scale].map(tenth);
  }

  const outside = ([x, y]) => x < 0 || y < 0 || x > width || y > height;
  const held = ([x, y]) => [clamp(x, 0, width), clamp(y, 0, height)];

  function draw() {
    const { scale, left, top } = fit();
    const X = v => (left + v * scale).toFixed(1), Y = v => (top + v * scale).toFixed(1);
    const outline = ([kind, ...a]) => {
      switch (kind) {
        case "cross": return `M${X(a[0])} ${Y(a[1])}m-9 0h18m-9 -9v18`;
        case "rect": return `M${X(a[0])} ${Y(a[1])}H${X(a[2])}V${Y(a[3])}H${X(a[0])}Z`;
        case "line": return `M${X(a[0])} ${Y(a[1])}L${X(a[2])} ${Y(a[3])}`;
        case "circle": {
          const r = a[2] * scale;
          return `M${X(a[0])} ${Y(a[1])}m${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`;
        }
        default: return "";
      }
    };
    const path = shapes.map(outline).join("");
    halo.setAttribute("d", path);
    lines.setAttribute("d", path);
    texts.replaceChildren(...shapes.filter(s => s[0] === "text").map(([, x, y, s]) => svg("text", { x: X(x), y: Y(y) }, String(s))));
    const own = [];
    if (corner) own.push([node.style === "line" ? "line" : "rect", ...corner.from, ...corner.to]);
    if (key) own.push(["cross", ...key]);
    hand.setAttribute("d", own.map(outline).join(""));
  }

  el.addEventListener("pointerdown", event => {
    const from = at(event);
    // With both gestures the left button draws; the middle button, or Shift, moves the picture.
    const pans = can("pan") && (!can("drag") || event.button === 1 || event.shiftKey);
    if ((event.button !== 0 && !(pans && event.button === 1)) || outside(from)) return;
    event.preventDefault();
    el.focus({ focusVisible: false });
    key = null;
    let dragged = false, last = from;
    follow(el, event, move => {
      const to = at(move);
      dragged ||= Math.hypot(move.clientX - event.clientX, move.clientY - event.clientY) >= DRAG_PX;
      if (!dragged) return;
      if (pans) {
        const way = [tenth(to[0] - last[0]), tenth(to[1] - last[1])];
        last = to;
        if (way[0] || way[1]) send(way, "pan");
      } else if (can("drag")) {
        corner = { from, to: held(to) };
        draw();
      }
    }, (end, cancelled) => {
      corner = null;
      draw();
      if (cancelled) return;
      if (!dragged) {
        if (can("click") && event.button === 0) send(from, "click");
      } else if (!pans && can("drag")) send([...from, ...held(at(end))], "drag");
    });
  });
  el.addEventListener("dblclick", event => {
    const p = at(event);
    if (can("double") && !outside(p)) send(p, "double");
  });
  if (can("wheel")) {
    const memory = {};
    el.addEventListener("wheel", event => {
      event.preventDefault();
      const p = at(event), clicks = -wheelClicks(event, memory);
      if (clicks && !outside(p)) send([...p, clicks], "wheel");
    }, { passive: false });
  }
  // The same gestures from the keyboard, at a cursor that the arrow keys move.
  el.addEventListener("keydown", event => {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    const from = key ?? [width / 2, height / 2];
    if (step && event.ctrlKey && can("pan")) send([step[0] * PAN_STEP, step[1] * PAN_STEP], "pan");
    else if (step) {
      const reach = event.shiftKey ? 16 : 1;
      key = held([from[0] + step[0] * reach, from[1] + step[1] * reach]);
      if (corner) corner.to = key;
    } else if (event.key === "Enter" && can(can("click") ? "click" : "double")) send(from, can("click") ? "click" : "double");
    else if (event.key === "d" && can("double")) send(from, "double");
    else if (event.key === " " && can("drag")) {
      // The first press sets one corner, the second the other.
      if (corner) send([...corner.from, ...corner.to], "drag");
      corner = corner ? null : { from, to: from };
      key = from;
    } else if (event.key === "Escape" && (corner || key)) corner = key = null;
    else if ((event.key === "PageUp" || event.key === "PageDown") && can("wheel")) send([...from, event.key === "PageUp" ? 1 : -1], "wheel");
    else return;
    event.preventDefault();
    draw();
  });
  el.addEventListener("blur", () => {
    key = corner = null;
    draw();
  });
  new ResizeObserver(draw).observe(el);

  return {
    el,
    frame(f) {
      if (!f.pixels && !f.bitmap) return;
      if (image.width !== f.width || image.height !== f.height) Object.assign(image, { width: f.width, height: f.height });
      if (f.pixels) g.putImageData(f.pixels, 0, 0);
      else g.drawImage(f.bitmap, 0, 0);
      f.bitmap?.close();
    },
    set(p) {
      if (!Array.isArray(p.overlay)) return;
      shapes = p.overlay.filter(Array.isArray);
      draw();
    },
  };
}
