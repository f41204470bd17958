// Scales and ticks of a diagram's axis.

const tiny = 1e-300;

/** How a value lies along an axis: linear, logarithmic, or by its square root (which gives counts equal noise). */
export const SCALES = {
  linear: { to: v => v, from: u => u },
  log: { to: v => Math.log10(Math.max(v, tiny)), from: u => 10 ** u },
  sqrt: { to: v => Math.sign(v) * Math.sqrt(Math.abs(v)), from: u => Math.sign(u) * u * u },
};

export class Axis {
  /** Values `lo` to `hi` on pixels `start` to `end`. */
  constructor(kind, lo, hi, start, end) {
    this.kind = kind;
    this.scale = SCALES[kind];
    if (!(hi > lo)) hi = lo + (Math.abs(lo) || 1);
    if (kind === "log" && lo <= 0) lo = hi > 0 ? hi / 1e4 : 1e-4;
    Object.assign(this, { lo, hi: Math.max(hi, lo * (kind === "log" ? 1.001 : 1)), start, end });
    this.a = this.scale.to(this.lo);
    this.k = (end - start) / (this.scale.to(this.hi) - this.a);
  }

  pixel(value) {
    return this.start + (this.scale.to(value) - this.a) * this.k;
  }

  value(pixel) {
    return this.scale.from(this.a + (pixel - this.start) / this.k);
  }

  /** -> {major: [[value, text]], minor: [value]}, about `count` labels. */
  ticks(count) {
    if (this.kind === "log" && this.hi / this.lo >= 10) return logTicks(this.lo, this.hi, count);
    if (this.kind === "sqrt" && this.lo >= 0) return squareTicks(this.lo, this.hi, count);
    return linearTicks(this.lo, this.hi, count);
  }

  /** Text of a value that tells neighbouring pixels apart. */
  text(value) {
    const pixels = Math.abs(this.end - this.start);
    return numeral(value, this.kind === "log" ? Math.abs(value) / 100 : (this.hi - this.lo) / pixels, this.largest);
  }

  get largest() {
    return Math.max(Math.abs(this.lo), Math.abs(this.hi));
  }
}

function niceStep(span, count) {
  const raw = span / Math.max(count, 1), power = 10 ** Math.floor(Math.log10(raw));
  const factor = [1, 2, 5, 10].find(f => f * power >= raw * (1 - 1e-9));
  return { step: factor * power, parts: factor === 2 ? 4 : 5 };
}

function linearTicks(lo, hi, count) {
  const { step, parts } = niceStep(hi - lo, count), major = [], minor = [];
  const largest = Math.max(Math.abs(lo), Math.abs(hi)), fine = step / parts;
  // Multiples are counted in whole numbers: adding up steps would drift.
  for (let i = Math.ceil(lo / fine - 1e-6); i * fine <= hi + fine * 1e-6; i++) {
    if (i % parts) minor.push(i * fine);
    else major.push([i * fine, numeral(i * fine, step, largest)]);
  }
  return { major, minor };
}

function logTicks(lo, hi, count) {
  const first = Math.floor(Math.log10(lo)), last = Math.ceil(Math.log10(hi)), major = [], minor = [];
  const every = Math.ceil((last - first) / Math.max(count, 1));
  for (let e = first; e <= last; e++) {
    for (let m = 1; m < 10; m++) {
      const value = Number(`${m}e${e}`);
      if (value < lo * (1 - 1e-9) || value > hi * (1 + 1e-9)) continue;
      if (m > 1 || (e - first) % every) { if (every === 1) minor.push(value); }
      else major.push([value, e >= -2 && e <= 4 ? String(value) : `1e${e}`]);
    }
  }
  return { major, minor };
}

function squareTicks(lo, hi, count) {
  const { step } = niceStep(Math.sqrt(hi) - Math.sqrt(lo), count), major = [];
  for (let i = Math.ceil(Math.sqrt(lo) / step - 1e-6); (i * step) ** 2 <= hi * (1 + 1e-9); i++) {
    const value = (i * step) ** 2;
    major.push([value, numeral(value, Math.max(value, step * step) / 10, hi)]);
  }
  return { major, minor: [] };
}

/** A number with the digits that `resolution` deserves; powers of ten only where plain digits would be too long. */
export function numeral(value, resolution, largest) {
  if (value === 0) return "0";
  if (largest >= 1e6 || largest < 1e-3) {
    const digits = Math.max(0, Math.floor(Math.log10(Math.abs(value))) - Math.floor(Math.log10(resolution)));
    return value.toExponential(Math.min(digits, 6)).replace("e+", "e");
  }
  return value.toFixed(Math.min(Math.max(0, -Math.floor(Math.log10(resolution) + 1e-9)), 6));
}
