// Draws a diagram on a canvas: axes, grid, series, marks. No state, no events; the same input gives the same pixels.
import { Axis } from "./axis.js";

const LEFT = 66, RIGHT = 14, TOP = 10, BOTTOM = 40;
const LABEL_GAP_X = 64, LABEL_GAP_Y = 44;         // px a label should have for itself
const DENSE = 2;                                   // points a pixel, from which on they are drawn as bars
const MARK_ROW = 13, MARK_ROWS = 3;

/** The axes of a diagram of a size, for {x0, x1, y0, y1, kind}. */
export function layout(width, height, limits) {
  return {
    width, height,
    x: new Axis("linear", limits.x0, limits.x1, LEFT, Math.max(width - RIGHT, LEFT + 10)),
    y: new Axis(limits.kind, limits.y0, limits.y1, Math.max(height - BOTTOM, TOP + 10), TOP),
  };
}

/** What is shown when nobody has zoomed and the instrument sets no limits. */
export function extent(rows, kind) {
  const [xs, ...series] = rows;
  const [x0, x1] = range(xs ? [xs] : [], () => true);
  // On a logarithmic axis only positive values have a place.
  let [y0, y1] = range(series, kind === "log" ? v => v > 0 : () => true);
  if (!(x1 >= x0)) return { x0: 0, x1: 1, y0: kind === "log" ? 1 : 0, y1: kind === "log" ? 10 : 1 };
  if (!(y1 >= y0)) [y0, y1] = kind === "log" ? [1, 10] : [0, 1];
  if (kind === "log") return { x0, x1, y0: y0 / 1.5, y1: y1 * 1.5 };
  // Counts and intensities stand on zero; a narrow band of values far from it fills the height.
  const margin = (y1 - y0 || Math.abs(y1) || 1) * 0.06;
  return { x0, x1, y0: y0 >= 0 && y0 < 0.6 * y1 ? 0 : y0 - margin, y1: y1 + margin };
}

function range(rows, counts) {
  let lo = Infinity, hi = -Infinity;
  for (const row of rows) {
    for (let i = 0; i < row.length; i++) {
      const v = row[i];
      if (v < lo && counts(v)) lo = v;
      if (v > hi && counts(v)) hi = v;
    }
  }
  return [lo, hi];
}

/** `theme`: colours and font; `titles`: {x, y}; `style`: "line" or "points". */
export function draw(g, frame, { rows, titles, marks, theme, style }) {
  const { width, height, x, y } = frame;
  g.fillStyle = theme.outside;
  g.fillRect(0, 0, width, height);
  g.fillStyle = theme.inside;
  g.fillRect(x.start, y.end, x.end - x.start, y.start - y.end);
  const xt = x.ticks((x.end - x.start) / LABEL_GAP_X), yt = y.ticks((y.start - y.end) / LABEL_GAP_Y);
  grid(g, frame, xt, yt, theme);
  g.save();
  g.beginPath();
  g.rect(x.start, y.end, x.end - x.start, y.start - y.end);
  g.clip();
  rows.slice(1).forEach((row, i) => {
    g.strokeStyle = g.fillStyle = theme.series[i % theme.series.length];
    if (style === "points") points(g, frame, rows[0], row);
    else line(g, frame, rows[0], row);
  });
  g.restore();
  label(g, frame, xt, yt, titles, theme);
  markers(g, frame, marks, theme);
}

// Half pixels: a line of one pixel on a whole coordinate would cover two, at half strength.
const crisp = v => Math.round(v) + 0.5;

function grid(g, { x, y }, xt, yt, theme) {
  g.lineWidth = 1;
  for (const [colour, xs, ys] of [[theme.minor, [], y.kind === "log" ? yt.minor : []], [theme.grid, xt.major.map(t => t[0]), yt.major.map(t => t[0])]]) {
    g.strokeStyle = colour;
    g.beginPath();
    for (const v of xs) { g.moveTo(crisp(x.pixel(v)), y.end); g.lineTo(crisp(x.pixel(v)), y.start); }
    for (const v of ys) { g.moveTo(x.start, crisp(y.pixel(v))); g.lineTo(x.end, crisp(y.pixel(v))); }
    g.stroke();
  }
}

function label(g, { x, y, height }, xt, yt, titles, theme) {
  g.strokeStyle = theme.axis;
  g.lineWidth = 1;
  g.beginPath();
  g.rect(crisp(x.start), crisp(y.end), Math.round(x.end - x.start), Math.round(y.start - y.end));
  for (const [vs, size] of [[xt.minor, 3], [xt.major.map(t => t[0]), 6]]) {
    for (const v of vs) { g.moveTo(crisp(x.pixel(v)), y.start); g.lineTo(crisp(x.pixel(v)), y.start + size); }
  }
  for (const [vs, size] of [[yt.minor, 3], [yt.major.map(t => t[0]), 6]]) {
    for (const v of vs) { g.moveTo(x.start, crisp(y.pixel(v))); g.lineTo(x.start - size, crisp(y.pixel(v))); }
  }
  g.stroke();
  g.fillStyle = theme.text;
  g.font = theme.font;
  g.textBaseline = "middle";
  g.textAlign = "center";
  for (const [v, text] of xt.major) g.fillText(text, Math.round(x.pixel(v)), y.start + 14);
  g.textAlign = "right";
  let above = Infinity;
  for (const [v, text] of yt.major) {
    const at = Math.round(y.pixel(v));
    if (above - at < 12) continue;                // labels of a squeezed scale must not run into each other
    g.fillText(text, x.start - 9, at);
    above = at;
  }
  g.fillStyle = theme.title;
  g.font = theme.bold;
  g.textAlign = "center";
  g.fillText(titles.x ?? "", Math.round((x.start + x.end) / 2), height - 10);
  g.save();
  g.translate(11, Math.round((y.start + y.end) / 2));
  g.rotate(-Math.PI / 2);
  g.fillText(titles.y ?? "", 0, 0);
  g.restore();
}

/** Index of the first x that is not below a value, in rising x. */
export function lowerBound(xs, value) {
  let lo = 0, hi = xs.length;
  while (lo < hi) {
    const middle = (lo + hi) >> 1;
    if (xs[middle] < value) lo = middle + 1; else hi = middle;
  }
  return lo;
}

export function rises(xs) {
  for (let i = 1; i < xs.length; i++) if (!(xs[i] >= xs[i - 1])) return false;
  return true;
}

function line(g, frame, xs, ys) {
  const { x, y } = frame, rising = rises(xs);
  // One point more on each side, so that the line runs on to the edge.
  const from = rising ? Math.max(lowerBound(xs, x.lo) - 1, 0) : 0, to = rising ? Math.min(lowerBound(xs, x.hi) + 1, xs.length) : xs.length;
  // By density, not by number: a scan that grows keeps its looks.
  if (rising && to - from > DENSE * Math.max(x.pixel(xs[to - 1]) - x.pixel(xs[from]), 10)) return decimated(g, frame, xs, ys, from, to);
  g.lineWidth = 1.25;
  g.lineJoin = "round";
  g.beginPath();
  let pen = false;
  for (let i = from; i < to; i++) {
    if (Number.isNaN(ys[i])) { pen = false; continue; }
    const px = x.pixel(xs[i]), py = bounded(y.pixel(ys[i]));
    if (pen) g.lineTo(px, py); else g.moveTo(px, py);
    // A point on its own would be a line of no length, which is not drawn.
    if (!pen && (i + 1 >= to || Number.isNaN(ys[i + 1]))) g.lineTo(px + 1, py);
    pen = true;
  }
  g.stroke();
}

// A zero on a logarithmic axis lies infinitely far down; canvas coordinates must stay within reason.
const bounded = py => Math.min(Math.max(py, -1e4), 1e4);

/**
 * Several points a pixel column: a bar from the smallest to the largest looks like all of them, and takes a tenth of
 * the time. Bars reach to the last point of the column before, so that the line holds together.
 */
function decimated(g, { x, y }, xs, ys, from, to) {
  let column = NaN, lo = 0, hi = 0, last = NaN;
  const flush = () => {
    if (Number.isNaN(column)) return;
    const top = Math.round(bounded(y.pixel(hi))), bottom = Math.round(bounded(y.pixel(lo)));
    g.fillRect(column, top, 1, Math.max(bottom - top, 0) + 1);
    column = NaN;
  };
  for (let i = from; i < to; i++) {
    const v = ys[i];
    if (Number.isNaN(v)) { flush(); last = NaN; continue; }
    const at = Math.floor(x.pixel(xs[i]));
    if (at !== column) {
      flush();
      column = at;
      lo = Number.isNaN(last) ? v : Math.min(v, last);
      hi = Number.isNaN(last) ? v : Math.max(v, last);
    } else {
      if (v < lo) lo = v;
      if (v > hi) hi = v;
    }
    last = v;
  }
  flush();
}

function points(g, { x, y }, xs, ys) {
  for (let i = 0; i < xs.length; i++) {
    if (!Number.isNaN(ys[i])) g.fillRect(Math.round(x.pixel(xs[i])) - 1.5, Math.round(bounded(y.pixel(ys[i]))) - 1.5, 4, 4);
  }
}

/** Labelled verticals; texts that would touch go a row lower. */
function markers(g, { x, y }, marks, theme) {
  g.font = theme.font;
  g.textAlign = "left";
  g.textBaseline = "top";
  g.lineWidth = 1;
  const ends = Array(MARK_ROWS).fill(-Infinity);
  for (const [at, text] of [...marks].sort((a, b) => a[0] - b[0])) {
    if (!(at >= x.lo && at <= x.hi)) continue;
    const px = crisp(x.pixel(at)), wide = g.measureText(text ?? "").width;
    const left = Math.min(px + 3, x.end - wide - 2);
    let row = ends.findIndex(end => end < left);
    if (row < 0) row = MARK_ROWS - 1;
    ends[row] = left + wide + 6;
    g.strokeStyle = theme.mark;
    g.setLineDash([3, 3]);
    g.beginPath();
    g.moveTo(px, y.end + 1);
    g.lineTo(px, y.start);
    g.stroke();
    g.setLineDash([]);
    if (!text) continue;
    g.fillStyle = theme.inside;
    g.fillRect(left - 2, y.end + 2 + row * MARK_ROW, wide + 4, MARK_ROW - 1);
    g.fillStyle = theme.mark;
    g.fillText(text, left, y.end + 3 + row * MARK_ROW);
  }
}
