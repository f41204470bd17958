// Push buttons and switches.
import { h, nameOf, setText } from "./dom.js";

function button(node, send) {
  const text = h("span", { class: "text" }, node.label ?? "");
  const el = h("button", { type: "button", class: "button", onclick: () => send([]) }, text);
  let led = null;
  return {
    el,
    set(p) {
      if ("enabled" in p) el.disabled = !p.enabled;
      if (typeof p.label === "string") setText(text, p.label);
      if ("lit" in p && p.lit !== null) {
        // Only buttons that can be lit get the little lamp and a pressed state.
        if (!led) el.prepend(led = h("span", { class: "led", "aria-hidden": "true" }));
        el.setAttribute("aria-pressed", Boolean(p.lit));
      }
    },
  };
}

function toggle(node, send) {
  const on = node.on_label ?? "On", off = node.off_label ?? "Off";
  let value = false;
  const show = () => {
    control.setAttribute("aria-checked", value);
    setText(state, value ? on : off);
  };
  const state = h("span", { class: "state" });
  const control = h("button", {
    type: "button", role: "switch", class: "switch", "aria-label": nameOf(node),
    onclick: () => {
      // A second click before the next commit must ask for the opposite of the first.
      value = !value;
      show();
      send([value]);
    },
  }, h("span", { class: "rail" }, h("span", { class: "bolt" })), state);
  show();
  return {
    el: h("div", { class: "field toggle" }, h("span", { class: "label", "aria-hidden": "true" }, node.label ?? ""), control),
    control,
    set(p) {
      if ("enabled" in p) control.disabled = !p.enabled;
      if ("value" in p) { value = Boolean(p.value); show(); }
    },
  };
}

export const buttons = { button, toggle };
