// Sliders and knobs: the same quantity, drawn as a line or as a dial, always with a numeric field beside it.
import { clamp, follow, h, nameOf, svg, unitOf } from "./dom.js";
import { spin } from "./fields.js";
import { Quantity, keyMove, onWheel } from "./quantity.js";

const FINE = 0.1;                  // with Shift, a drag moves at a tenth of the speed
const KNOB_TRAVEL = 200;           // px of vertical drag from one limit to the other
const SWEEP = 270;                 // degrees of a dial, open at the bottom
const MIN_ANGLE = -SWEEP / 2;

/** Everything but the drawing and the dragging: `face` is the slider element, `draw()` shows the quantity. */
function adjustable(node, send, quantity, face, draw) {
  const name = nameOf(node);
  let enabled = true;
  const ask = value => {
    if (value === quantity.value) return;
    if (typeof value === "number") quantity.value = value;
    send([value]);
    if (typeof value === "number") show();
  };
  const entry = spin(quantity, node.unit ? `${node.label} value (${node.unit})` : `${node.label} value`, node.label, ask);
  const show = () => {
    entry.show();
    draw();
    face.setAttribute("aria-valuenow", quantity.value ?? quantity.lo);
    face.setAttribute("aria-valuetext", quantity.format());
  };
  for (const [key, value] of Object.entries({
    role: "slider", tabindex: 0, "aria-label": name, "aria-valuemin": quantity.lo, "aria-valuemax": quantity.hi,
  })) face.setAttribute(key, value);
  face.addEventListener("keydown", event => {
    const move = enabled && keyMove(event, quantity, false);
    if (!move) return;
    event.preventDefault();
    ask(move());
  });
  onWheel(face, quantity, () => enabled, move => ask(move()));
  return {
    entry,
    ask,
    get enabled() { return enabled; },
    set(p) {
      if ("value" in p) { quantity.value = p.value; show(); }
      if ("enabled" in p) {
        enabled = Boolean(p.enabled);
        face.setAttribute("aria-disabled", !enabled);
        face.tabIndex = enabled ? 0 : -1;
        entry.enable(enabled);
      }
    },
  };
}

/** A relative drag: `travel(event)` is the way of the pointer as a fraction of the range; Shift makes it fine. */
function relative(face, event, quantity, travel, ask) {
  let value = quantity.value ?? quantity.lo;
  let last = travel(event);
  follow(face, event, e => {
    const now = travel(e);
    value = clamp(value + (now - last) * (e.shiftKey ? FINE : 1) * (quantity.hi - quantity.lo), quantity.lo, quantity.hi);
    last = now;
    ask(quantity.snapped(value));
  });
}

function slider(node, send) {
  const quantity = new Quantity(node);
  const thumb = h("span", { class: "thumb" }), filled = h("span", { class: "filled" });
  const rail = h("span", { class: "rail" }, filled, thumb);
  const ticks = h("span", { class: "ticks" });
  const face = h("div", { class: "track" }, rail, ticks);
  const part = adjustable(node, send, quantity, face, () => {
    const percent = `${quantity.fraction * 100}%`;
    thumb.style.left = percent;
    filled.style.width = percent;
  });
  face.addEventListener("pointerdown", event => {
    if (!part.enabled || event.button) return;
    event.preventDefault();
    face.focus();
    const box = rail.getBoundingClientRect();
    const travel = e => (e.clientX - box.left) / box.width;
    // A press on the thumb only takes hold of it; anywhere else on the track the value jumps there.
    if (event.target !== thumb && !event.shiftKey) part.ask(quantity.snapped(quantity.lo + clamp(travel(event), 0, 1) * (quantity.hi - quantity.lo)));
    relative(face, event, quantity, travel, part.ask);
  });
  return {
    el: h("div", { class: "slider" },
      h("span", { class: "label", "aria-hidden": "true" }, node.label), part.entry.el,
      unitOf(node), face),
    control: face,
    set: part.set,
  };
}

/** Point of the dial at an angle in degrees, clockwise from the top. */
const polar = (angle, radius) => [Math.sin(angle * Math.PI / 180) * radius, -Math.cos(angle * Math.PI / 180) * radius].map(v => v.toFixed(2));

function knob(node, send) {
  const quantity = new Quantity(node);
  const marks = Array.from({ length: 11 }, (_, i) => {
    const angle = MIN_ANGLE + i * SWEEP / 10;
    return `M${polar(angle, 26)}L${polar(angle, i % 5 ? 28.5 : 30)}`;
  }).join("");
  const arc = svg("path", { class: "arc" }), pointer = svg("line", { class: "pointer" });
  const face = h("div", { class: "dial" }, svg("svg", { viewBox: "-31 -31 62 62", "aria-hidden": "true" },
    svg("path", { class: "marks", d: marks }),
    svg("path", { class: "groove", d: `M${polar(MIN_ANGLE, 23)}A23 23 0 1 1 ${polar(-MIN_ANGLE, 23)}` }), arc,
    svg("circle", { class: "cap", r: 18 }), pointer));
  const part = adjustable(node, send, quantity, face, () => {
    const angle = MIN_ANGLE + quantity.fraction * SWEEP;
    const [x1, y1] = polar(angle, 8), [x2, y2] = polar(angle, 16.5);
    for (const [key, value] of Object.entries({ x1, y1, x2, y2 })) pointer.setAttribute(key, value);
    arc.setAttribute("d", `M${polar(MIN_ANGLE, 23)}A23 23 0 ${quantity.fraction * SWEEP > 180 ? 1 : 0} 1 ${polar(angle, 23)}`);
  });
  face.addEventListener("pointerdown", event => {
    if (!part.enabled || event.button) return;
    event.preventDefault();
    face.focus();
    const box = face.getBoundingClientRect();
    const x = event.clientX - box.left - box.width / 2, y = event.clientY - box.top - box.height / 2;
    if (Math.hypot(x, y) <= 18 / 62 * box.width) {
      // On the cap: up or right increases.
      relative(face, event, quantity, e => (e.clientX - e.clientY) / KNOB_TRAVEL, part.ask);
      return;
    }
    // On the scale around it: the pointer is dragged to where the mouse is.
    const turn = e => {
      const angle = Math.atan2(e.clientX - box.left - box.width / 2, box.top + box.height / 2 - e.clientY) * 180 / Math.PI;
      part.ask(quantity.snapped(quantity.lo + clamp((angle - MIN_ANGLE) / SWEEP, 0, 1) * (quantity.hi - quantity.lo)));
    };
    turn(event);
    follow(face, event, turn);
  });
  return {
    el: h("div", { class: "knob" },
      h("span", { class: "label", "aria-hidden": "true" }, node.label), face,
      h("div", { class: "below" }, part.entry.el, unitOf(node))),
    control: face,
    set: part.set,
  };
}

export const sliders = { slider, knob };
