// What holds other widgets: rows, columns, grids, groups, tabs and dialogs.
import { h } from "./dom.js";

function container(make) {
  return (node, send, children) => {
    const el = make(node, children);
    return { el, set(p) { if ("visible" in p) el.hidden = !p.visible; } };
  };
}

function grid(node, children) {
  const el = h("div", { class: "grid" }, ...children);
  el.style.gridTemplateColumns = `repeat(${Number(node.columns) || 1}, minmax(0, 1fr))`;
  return el;
}

function group(node, children) {
  const titled = node.label && node.parent?.kind !== "tabs";       // a tab already says it
  return h("section", { class: "group", role: "group", "aria-label": node.label },
    titled ? h("h2", { "aria-hidden": "true" }, node.label) : null, h("div", { class: "body" }, ...children));
}

/** All pages lie in one cell, so choosing another never moves anything. Which one shows is the server's word. */
function tabs(node, send, children) {
  const prefix = `tab-${node.id}`;
  let asked = 0;
  const ask = index => {
    asked = index;
    send([index], "select");
  };
  const heads = children.map((_, i) => h("button", {
    type: "button", role: "tab", id: `${prefix}-${i}`, "aria-controls": `${prefix}-${i}-page`, onclick: () => ask(i),
  }, node.children[i].label ?? ""));
  const pages = children.map((child, i) => h("div", {
    class: "page", role: "tabpanel", id: `${prefix}-${i}-page`, "aria-labelledby": `${prefix}-${i}`,
  }, child));
  const list = h("div", {
    role: "tablist", "aria-label": node.label, onkeydown: event => {
      const to = { ArrowLeft: asked - 1, ArrowRight: asked + 1, Home: 0, End: heads.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      ask((to + heads.length) % heads.length);
      heads[asked].focus();
    },
  }, ...heads);
  const select = index => {
    asked = index;
    heads.forEach((head, i) => {
      head.setAttribute("aria-selected", i === index);
      head.tabIndex = i === index ? 0 : -1;
      pages[i].classList.toggle("off", i !== index);
    });
  };
  select(0);
  return {
    el: h("div", { class: "tabs" }, list, h("div", { class: "pages" }, ...pages)),
    set(p) { if (Number.isInteger(p.selected)) select(p.selected); },
  };
}

function dialog(node, send, children) {
  let open = false;
  const escape = event => {
    if (event.key !== "Escape" || event.defaultPrevented) return;
    // The browser must not close it on its own: only the server closes a dialog.
    event.preventDefault();
    if (node.on.includes("cancel")) send([], "cancel");
  };
  const el = h("dialog", {
    class: "dialog", "aria-label": node.label, closedby: "none", onkeydown: escape,
    oncancel: e => e.preventDefault(),
    onclose: () => { if (open && el.isConnected) el.showModal(); },
  }, h("h2", { "aria-hidden": "true" }, node.label ?? ""), h("div", { class: "body" }, ...children));
  return {
    el,
    set(p) {
      if (!("open" in p)) return;
      open = Boolean(p.open);
      if (open && !el.open) el.showModal();
      else if (!open && el.open) el.close();
    },
  };
}

export const containers = {
  row: container((node, children) => h("div", { class: "row" }, ...children)),
  column: container((node, children) => h("div", { class: "column" }, ...children)),
  grid: container(grid),
  group: container(group),
  tabs,
  dialog,
};
