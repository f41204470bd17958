// Builds a panel from its tree and applies commits to it. Every widget kind is one factory:
//   (node, send, children) -> {el, control?, set?(properties), frame?(frame)}
// `set` gets the node itself first (a fixed value may stand for a live one), later only what changed.
import { buttons } from "./buttons.js";
import { choices } from "./choices.js";
import { containers } from "./containers.js";
import { displays } from "./displays.js";
import { h } from "./dom.js";
import { fields } from "./fields.js";
import { plot } from "./plot.js";
import { sliders } from "./sliders.js";
import { hideTip } from "./tips.js";
import { transfer } from "./transfer.js";
import { view } from "./view.js";

const kinds = { ...containers, ...buttons, ...fields, ...sliders, ...choices, ...displays, ...transfer, plot, view };

export class Panel {
  #root;
  #send;
  #widgets = new Map();   // id -> widgets: a heading may share its id with the control under it
  #order = [];            // by position in the tree, for frames
  #fresh = null;          // a panel that waits for its first values
  #touched = new Map();   // id -> number of the operator's last event there

  constructor(root, send) {
    this.#root = root;
    this.#send = send;
  }

  /** Build, but show nothing yet: the values come with the first commit, and the two make one paint. */
  prepare(message) {
    this.#widgets.clear();
    this.#order.length = 0;
    this.#touched.clear();
    this.#fresh = { title: String(message.title ?? ""), theme: message.theme === "dark" ? "dark" : "light", el: this.#build(message.tree, null) };
  }

  commit(message, frames) {
    if (this.#fresh) this.#show();
    for (const frame of frames) attempt(() => this.#order[frame.widget]?.frame?.(frame));
    for (const [id, properties] of Object.entries(message.set ?? {})) {
      // The operator has moved on since the server made this: the answer to his last event will follow.
      if ((this.#touched.get(id) ?? 0) > (message.seq ?? Infinity)) continue;
      for (const widget of this.#widgets.get(id) ?? []) attempt(() => widget.set?.(properties));
    }
  }

  setInert(inert) {
    this.#root.inert = inert;
    this.#root.querySelectorAll("dialog").forEach(d => { d.inert = inert; });
  }

  #show() {
    const { title, theme, el } = this.#fresh;
    this.#fresh = null;
    const focused = document.activeElement?.dataset.focus;
    hideTip();
    document.title = title;
    document.getElementById("title").textContent = title;
    document.documentElement.dataset.theme = theme;
    this.#root.replaceChildren(el);
    for (const widget of this.#order) attempt(() => widget.set?.(widget.node));
    if (focused) this.#root.querySelector(`[data-focus="${CSS.escape(focused)}"]`)?.focus();
  }

  #build(node, parent) {
    const at = this.#order.push(null) - 1;               // pre-order: a parent comes before its children
    const children = (node.children ?? []).map(child => this.#build(child, node));
    const send = (args, gesture) => this.#touched.set(node.id, this.#send(node.id, args, gesture));
    const complete = { on: [], ...node, parent };
    const widget = (Object.hasOwn(kinds, node.kind) ? kinds[node.kind] : unknown)(complete, send, children);
    widget.node = node;
    this.#order[at] = widget;
    if (node.id) this.#widgets.set(node.id, [...this.#widgets.get(node.id) ?? [], widget]);
    place(widget, node);
    return widget.el;
  }
}

/** Layout properties that every kind has. Set through the CSSOM, so a strict content policy holds. */
function place({ el, control = el }, node) {
  const { style } = el;
  if (node.width !== undefined && node.width !== null) { style.width = `${node.width}px`; el.classList.add("wide"); }
  if (node.height !== undefined && node.height !== null) { style.height = `${node.height}px`; el.classList.add("high"); }
  if (node.grow) { style.flex = `${node.grow} 1 0`; el.classList.add("grow"); }
  if (node.align) style.alignSelf = { start: "flex-start", end: "flex-end" }[node.align] ?? node.align;
  if (typeof node.style === "string") el.classList.add(`style-${node.style}`);
  if (node.id) {
    el.dataset.id = node.id;
    control.dataset.focus = node.id;
  }
  if (node.tip) {
    el.dataset.tip = node.tip;
    control.setAttribute("aria-description", node.tip);
  }
}

const unknown = node => ({ el: h("div", { class: "unknown" }, `? ${node.kind}`) });

/** A property that one widget cannot digest must not take the rest of the panel with it. */
function attempt(action) {
  try {
    action();
  } catch (error) {
    console.warn("matassay:", error);
  }
}
