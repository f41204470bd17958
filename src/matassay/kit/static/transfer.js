// Moving things by hand: items of a tray are dragged to a slot, or picked up and put down with clicks or keys.
import { follow, h, setText } from "./dom.js";

const DRAG_PX = 4;
let held = null;                   // the item that is in the hand: {key, el}

function pickUp(el, key) {
  putDown();
  held = { el, key };
  el.setAttribute("aria-pressed", "true");
}

function putDown() {
  held?.el.setAttribute("aria-pressed", "false");
  held = null;
}

function tray(node) {
  const el = h("div", { class: "tray", role: "group", "aria-label": node.label });
  const item = ([key, text]) => {
    const button = h("button", { type: "button", class: "item", "aria-pressed": "false", "data-focus": `${node.id}/${key}` }, text);
    let dragged = false;
    button.addEventListener("click", () => {
      // The browser sends a click after a drag that ends where it began; that one is no click.
      if (dragged) return;
      if (held?.el === button) putDown();
      else pickUp(button, key);
    });
    button.addEventListener("keydown", event => {
      if (event.key === "Escape" && held) { event.preventDefault(); putDown(); }
    });
    // Pointer events, not drag-and-drop of HTML: plain mouse down, move and up must do.
    button.addEventListener("pointerdown", event => {
      dragged = false;
      if (event.button) return;
      const { clientX, clientY } = event;
      follow(button, event, move => {
        const x = move.clientX - clientX, y = move.clientY - clientY;
        if (!dragged && Math.hypot(x, y) < DRAG_PX) return;
        dragged = true;
        button.classList.add("dragged");
        button.style.translate = `${x}px ${y}px`;
        mark(slotAt(move));
      }, (end, cancelled) => {
        button.classList.remove("dragged");
        button.style.translate = "";
        mark(null);
        if (!dragged) return;
        putDown();
        if (!cancelled) slotAt(end)?.dispatchEvent(new CustomEvent("put", { detail: key }));
      });
    });
    return button;
  };
  return {
    el,
    set(p) {
      if (!Array.isArray(p.items)) return;
      putDown();
      el.replaceChildren(...p.items.map(item));
    },
  };
}

/** The slot under the pointer; the item that is dragged lies on top and is looked through. */
const slotAt = event => document.elementsFromPoint(event.clientX, event.clientY).map(el => el.closest(".slot .place")).find(Boolean) ?? null;

function mark(place) {
  document.querySelectorAll(".slot .place.over").forEach(el => { if (el !== place) el.classList.remove("over"); });
  place?.classList.add("over");
}

function slot(node, send) {
  const place = h("button", { type: "button", class: "place", onclick: () => {
    if (!held) return;
    const { key } = held;
    putDown();
    send([key], "drop");
  } });
  place.addEventListener("put", event => send([event.detail], "drop"));
  return {
    el: h("div", { class: "field slot" }, h("span", { class: "label", "aria-hidden": "true" }, node.label ?? ""), place),
    control: place,
    set(p) {
      if (!("holds" in p)) return;
      const holds = String(p.holds ?? "");
      setText(place, holds || "empty");
      place.classList.toggle("full", holds !== "");
      place.setAttribute("aria-label", `${node.label ?? ""}: ${holds || "empty"}`);
    },
  };
}

export const transfer = { tray, slot };
