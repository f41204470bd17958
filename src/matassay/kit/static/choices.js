// Choosing one of several: a drop-down whose list is part of the page, and a list box.
import { clamp, field, h, nameOf, setText } from "./dom.js";
import { OptionList, ROW } from "./options.js";

const MOST_ROWS = 12;
const EDGE = 4;                     // px kept free between a pop-up and the window's edge

// A native <select> shows its list in a window of its own: not in a screenshot, and out of reach of a click at coordinates.
function select(node, send) {
  let value = null, choices = [], open = false;
  const text = h("span", { class: "text" });
  const list = new OptionList(`options-${node.id}`, nameOf(node), index => choose(index));
  const popup = h("div", { class: "popup", popover: "manual" }, list.el);
  const control = h("button", {
    type: "button", role: "combobox", class: "combo", "aria-label": nameOf(node), "aria-haspopup": "listbox",
    "aria-expanded": "false", "aria-controls": list.id,
    onclick: () => (open ? hide() : show()),
    onblur: () => hide(),
    onkeydown: key,
  }, text);

  function show() {
    if (!choices.length) return;
    open = true;
    control.setAttribute("aria-expanded", "true");
    const box = control.getBoundingClientRect();
    const below = innerHeight - box.bottom - EDGE, above = box.top - EDGE;
    const wanted = Math.min(choices.length, MOST_ROWS) * ROW + 2;
    const up = wanted > below && above > below;
    const height = Math.min(wanted, Math.floor(((up ? above : below) - 2) / ROW) * ROW + 2);
    Object.assign(popup.style, { minWidth: `${box.width}px`, height: `${height}px`, top: up ? `${box.top - height + 1}px` : `${box.bottom - 1}px`, left: "0px" });
    popup.showPopover();
    popup.style.left = `${clamp(box.left, EDGE, Math.max(EDGE, innerWidth - popup.offsetWidth - EDGE))}px`;
    list.activate(choices.indexOf(value), control);
  }

  function hide() {
    if (!open) return;
    open = false;
    control.setAttribute("aria-expanded", "false");
    control.removeAttribute("aria-activedescendant");
    popup.hidePopover();
    list.forget();
  }

  function choose(index) {
    hide();
    if (choices[index] === undefined) return;
    value = choices[index];
    draw();
    send([value]);
  }

  function key(event) {
    if (event.key === "Escape" && open) {
      event.preventDefault();        // closes the list, not the dialog around it
      return hide();
    }
    if (event.key === "Enter" || event.key === " " || (event.altKey && event.key.startsWith("Arrow"))) {
      event.preventDefault();        // or the key would click the button as well
      return open ? choose(list.active) : show();
    }
    const target = list.keyTarget(event, open ? list.active : choices.indexOf(value), MOST_ROWS - 1);
    if (target === null) return;
    event.preventDefault();
    // Closed, the keys only open it: an instrument must not run through settings on the way to one.
    if (!open) {
      show();
      if (event.key.startsWith("Arrow")) return;
    }
    list.activate(target, control);
  }

  function draw() {
    setText(text, value ?? "");
    list.select(value);
    control.setAttribute("aria-valuetext", value ?? "");
  }

  list.list.addEventListener("pointermove", event => {
    const index = list.indexAt(event.target);
    if (index >= 0 && index !== list.active) list.activate(index, control, false);
  });

  return {
    el: field(node, h("span", { class: "select" }, control, popup), "choice"),
    control,
    set(p) {
      if (Array.isArray(p.choices)) list.setChoices(choices = p.choices.map(String));
      if ("value" in p) value = p.value === null ? null : String(p.value);
      if ("enabled" in p) {
        control.disabled = !p.enabled;
        if (!p.enabled) hide();
      }
      draw();
    },
  };
}

/** All options in sight or scrolled to; the selection follows the arrow keys. */
function listbox(node, send) {
  let value = null, choices = [], enabled = true;
  const rows = node.rows ?? 6;
  const list = new OptionList(`options-${node.id}`, nameOf(node), index => ask(index));
  const control = list.list;
  control.tabIndex = 0;
  if (!node.height && !node.grow) list.el.style.height = `${rows * ROW + 2}px`;

  function ask(index) {
    if (!enabled || choices[index] === value) return;
    value = choices[index];
    draw();
    send([value]);
  }

  function draw() {
    list.select(value);
    list.activate(choices.indexOf(value), control);
  }

  // The list does not take the focus from a press on its own (see OptionList), so it is given here.
  control.addEventListener("pointerdown", () => { if (enabled) control.focus(); });
  control.addEventListener("keydown", event => {
    const target = enabled ? list.keyTarget(event, list.active, rows - 1) : null;
    if (target === null) return;
    event.preventDefault();
    ask(target);
  });

  return {
    el: h("div", { class: "listbox" }, node.label ? h("span", { class: "label", "aria-hidden": "true" }, nameOf(node)) : null, list.el),
    control,
    set(p) {
      if (Array.isArray(p.choices)) list.setChoices(choices = p.choices.map(String));
      if ("value" in p) value = p.value === null ? null : String(p.value);
      if ("enabled" in p) {
        enabled = Boolean(p.enabled);
        control.setAttribute("aria-disabled", !enabled);
        control.tabIndex = enabled ? 0 : -1;
      }
      draw();
    },
  };
}

export const choices = { select, listbox };
