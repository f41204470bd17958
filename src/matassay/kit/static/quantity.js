// A number with limits and a step, and the ways to change it that fields, sliders and knobs share.
import { clamp, wheelClicks } from "./dom.js";

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

export class Quantity {
  value = null;

  constructor(node) {
    this.lo = node.lo ?? -Infinity;
    this.hi = node.hi ?? Infinity;
    this.step = node.step || 1;
    this.coarse = node.coarse || 10 * this.step;
    this.decimals = node.decimals ?? decimalsOf(this.step);
  }

  /** The text a field shows. */
  format(value = this.value) {
    return typeof value === "number" ? value.toFixed(this.decimals) : String(value ?? "");
  }

  /** A number, or the text itself when it is none: then the server refuses it with a message. */
  parse(text) {
    const plain = text.trim().replace("\u2212", "-");
    return NUMBER.test(plain) ? Number(plain) : plain;
  }

  moved(steps, size = this.step) {
    return this.within((this.value ?? 0) + steps * size);
  }

  /** Nearest multiple of the step, counted from the lower limit. */
  snapped(value) {
    const origin = Number.isFinite(this.lo) ? this.lo : 0;
    return this.within(origin + Math.round((value - origin) / this.step) * this.step);
  }

  within(value) {
    // Twelve digits hide the binary dust of 0.1 + 0.2 and keep every step an instrument has.
    return clamp(Number(value.toPrecision(12)), this.lo, this.hi);
  }

  /** 0 at the lower limit, 1 at the upper. */
  get fraction() {
    return this.hi > this.lo ? clamp(((this.value ?? this.lo) - this.lo) / (this.hi - this.lo), 0, 1) : 0;
  }
}

function decimalsOf(step) {
  const [mantissa, exponent = "0"] = String(step).split("e");
  return clamp((mantissa.split(".")[1] ?? "").length - Number(exponent), 0, 10);
}

/**
 * What a key asks for, as a function to call once typing is settled; null for other keys.
 * A text field keeps Home, End and the sideways arrows for its caret.
 */
export function keyMove(event, quantity, inText) {
  const size = event.shiftKey ? quantity.coarse : quantity.step;
  switch (event.key) {
    case "ArrowUp": return () => quantity.moved(1, size);
    case "ArrowDown": return () => quantity.moved(-1, size);
    case "PageUp": return () => quantity.moved(1, quantity.coarse);
    case "PageDown": return () => quantity.moved(-1, quantity.coarse);
  }
  if (inText) return null;
  switch (event.key) {
    case "ArrowRight": return () => quantity.moved(1, size);
    case "ArrowLeft": return () => quantity.moved(-1, size);
    case "Home": return () => quantity.lo;
    case "End": return () => quantity.hi;
  }
  return null;
}

/** Wheel over the control: away from the user increases; with Shift in coarse steps. `go(move)` as for keys. */
export function onWheel(el, quantity, enabled, go) {
  const memory = {};
  el.addEventListener("wheel", event => {
    if (!enabled()) return;
    event.preventDefault();
    const clicks = wheelClicks(event, memory);
    if (clicks) go(() => quantity.moved(-clicks, event.shiftKey ? quantity.coarse : quantity.step));
  }, { passive: false });
}
