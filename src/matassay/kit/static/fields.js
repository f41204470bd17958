// Fields to type into: numbers with up and down buttons, and plain text.
import { field, h, nameOf } from "./dom.js";
import { Quantity, keyMove, onWheel } from "./quantity.js";

// Nothing that a browser would add on its own may show in a screenshot.
const QUIET = { type: "text", autocomplete: "off", autocorrect: "off", autocapitalize: "off", spellcheck: "false" };

/**
 * Typing: what stands in the field is sent on Enter or when the field is left, never half typed; Escape takes it back.
 * `shown()` is the text when nobody types, `submit(text)` sends.
 */
function typing(input, shown, submit) {
  let dirty = false;
  const restore = () => {
    dirty = false;
    if (input.value === shown()) return;
    // After Enter the whole text is marked, so that typing replaces it: also when the instrument has rounded it.
    const marked = document.activeElement === input && input.selectionStart === 0 && input.selectionEnd === input.value.length;
    input.value = shown();
    if (marked) input.select();
  };
  const finish = () => {
    if (!dirty) return;
    dirty = false;
    if (input.value === shown()) return;
    submit(input.value);
  };
  input.addEventListener("input", () => { dirty = true; });
  input.addEventListener("blur", finish);
  input.addEventListener("focus", () => input.select());
  input.addEventListener("keydown", event => {
    if (event.key === "Enter") {
      finish();
      input.select();
    } else if (event.key === "Escape" && dirty) {
      event.preventDefault();        // this Escape is for the typing, not for the dialog around it
      restore();
      input.select();
    }
  });
  return {
    restore,
    finish,
    get dirty() { return dirty; },
  };
}

/** The numeric field with its two buttons; `ask(value)` is called with a number, or with text that is none. */
export function spin(quantity, name, label, ask) {
  const input = h("input", { ...QUIET, role: "spinbutton", inputmode: "decimal", class: "entry", "aria-label": name });
  if (Number.isFinite(quantity.lo)) input.setAttribute("aria-valuemin", quantity.lo);
  if (Number.isFinite(quantity.hi)) input.setAttribute("aria-valuemax", quantity.hi);
  const typed = typing(input, () => quantity.format(), text => ask(quantity.parse(text)));
  const go = move => {
    typed.finish();                  // a step starts from what stands in the field
    const value = move();
    if (value !== quantity.value) ask(value);
  };
  input.addEventListener("keydown", event => {
    const move = keyMove(event, quantity, true);
    if (!move) return;
    event.preventDefault();
    go(move);
  });
  // The focus goes to the field, not to the button, so that the arrow keys work after a click.
  const arrow = (word, steps) => h("button", {
    type: "button", class: `arrow ${steps > 0 ? "up" : "down"}`, tabindex: "-1", "aria-label": `${word} ${label}`,
    onpointerdown: e => { e.preventDefault(); input.focus(); },
    onclick: () => go(() => quantity.moved(steps)),
  });
  const arrows = [arrow("Increase", 1), arrow("Decrease", -1)];
  const el = h("span", { class: "spin" }, input, h("span", { class: "arrows" }, ...arrows));
  onWheel(el, quantity, () => !input.disabled, go);
  return {
    el,
    input,
    /** Show the value of the quantity, unless somebody is typing. */
    show() {
      if (!typed.dirty) typed.restore();
      if (typeof quantity.value === "number") input.setAttribute("aria-valuenow", quantity.value);
      input.setAttribute("aria-valuetext", quantity.format());
    },
    enable(yes) {
      for (const control of [input, ...arrows]) control.disabled = !yes;
    },
  };
}

function number(node, send) {
  const quantity = new Quantity(node);
  const entry = spin(quantity, nameOf(node), node.label, value => {
    // Text that is no number stays in the field until the server has answered.
    if (typeof value === "number") quantity.value = value;
    send([value]);
    if (typeof value === "number") entry.show();
  });
  return {
    el: field(node, entry.el, "number"),
    control: entry.input,
    set(p) {
      if ("value" in p) { quantity.value = p.value; entry.show(); }
      if ("enabled" in p) entry.enable(p.enabled);
    },
  };
}

function text(node, send) {
  let value = "";
  const input = h("input", { ...QUIET, class: "entry", "aria-label": nameOf(node), maxlength: node.max_length });
  const typed = typing(input, () => value, written => {
    value = written;
    send([written]);
  });
  return {
    el: field(node, input, "text"),
    control: input,
    set(p) {
      if ("value" in p) {
        value = String(p.value ?? "");
        if (!typed.dirty) typed.restore();
      }
      if ("enabled" in p) input.disabled = !p.enabled;
    },
  };
}

export const fields = { number, text };
