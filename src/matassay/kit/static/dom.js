// Small helpers that every widget uses.

/** An element: attributes (functions become listeners, null and false are left out), then children. */
export function h(tag, attributes = {}, ...children) {
  return dress(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return dress(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function dress(el, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") el.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) el.setAttribute(name, value === true ? "" : value);
  }
  el.append(...children.filter(c => c !== null && c !== undefined));
  return el;
}

/** What assistive technology and the tests call a control: its label, and its unit in parentheses. */
export const nameOf = node => node.unit ? `${node.label} (${node.unit})` : node.label ?? "";

/** Label, control and unit on one line of a group. */
export function field(node, control, kind = "") {
  return h("div", { class: `field ${kind}` },
    h("span", { class: "label", "aria-hidden": "true" }, node.label ?? ""), control,
    unitOf(node));
}

// Units are named in plain letters, and drawn as they are written.
const SYMBOLS = { deg: "°", angstrom: "Å", x: "×" };
const symbol = unit => SYMBOLS[unit] ?? unit.replace(/^deg\//, "°/").replace(/^u(?=[msAV]$)/, "µ");

/** The unit behind a control, or nothing. */
export const unitOf = node => node.unit ? h("span", { class: "unit", "aria-hidden": "true" }, symbol(node.unit)) : null;

/** Writing the same text again would still dirty the layout. */
export function setText(el, text) {
  if (el.textContent !== text) el.textContent = text;
}

export const clamp = (value, lo, hi) => Math.min(Math.max(value, lo), hi);

/**
 * Whole clicks of the wheel in an event, positive towards the user (scroll down).
 * A mouse sends about 100 px a click; a touch pad sends many small ones, which are added up.
 */
export function wheelClicks(event, memory) {
  const unit = [1, 33, 400][event.deltaMode];
  const delta = (event.deltaY || event.deltaX) * unit;      // Shift turns the wheel sideways
  if (Math.abs(delta) >= 50) {
    memory.rest = 0;
    return Math.sign(delta) * Math.max(1, Math.round(Math.abs(delta) / 100));
  }
  memory.rest = Math.sign(memory.rest ?? 0) * Math.sign(delta) < 0 ? delta : (memory.rest ?? 0) + delta;
  if (Math.abs(memory.rest) < 50) return 0;
  const click = Math.sign(memory.rest);
  memory.rest = 0;
  return click;
}

/** `move(event)` for every move of the pressed pointer, then `end(event, cancelled)`; survives leaving the element. */
export function follow(el, event, move, end) {
  el.setPointerCapture(event.pointerId);
  const stop = new AbortController();
  const mine = handler => e => { if (e.pointerId === event.pointerId) handler(e); };
  const finish = cancelled => mine(e => { stop.abort(); end?.(e, cancelled); });
  el.addEventListener("pointermove", mine(move), stop);
  el.addEventListener("pointerup", finish(false), stop);
  el.addEventListener("pointercancel", finish(true), stop);
}
