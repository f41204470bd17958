// What only shows: lamps, readouts, the message line, progress, tables.
import { clamp, h, nameOf, setText, unitOf } from "./dom.js";
import { scroller } from "./scroll.js";

const TABLE_ROW = 19;                        // px, as in displays.css

function lamp(node) {
  let lit = false, label = node.label ?? "";
  const text = h("span", { class: "text" });
  const el = h("div", { class: `lamp ${node.color ?? "green"}`, role: "img" }, h("span", { class: "led" }), text);
  return {
    el,
    set(p) {
      if ("lit" in p) lit = Boolean(p.lit);
      if (typeof p.label === "string") label = p.label;
      el.classList.toggle("lit", lit);
      el.setAttribute("aria-label", `${label}: ${lit ? "on" : "off"}`);
      setText(text, label);
    },
  };
}

function readout(node) {
  // `output` is a status by nature; a value that changes ten times a second must not be read out each time.
  const value = h("output", { "aria-label": nameOf(node), "aria-live": "off" });
  if (node.digits) value.style.width = `calc(${Number(node.digits)}ch + 14px)`;
  return {
    el: h("div", { class: "field readout" },
      h("span", { class: "label", "aria-hidden": "true" }, node.label ?? ""), value,
      unitOf(node)),
    control: value,
    set(p) { if ("value" in p) setText(value, String(p.value ?? "")); },
  };
}

function message(node) {
  const text = h("span", { class: "text" });
  const el = h("div", { class: "message", role: "status", "aria-label": node.label ?? "Message" }, h("span", { class: "sign", "aria-hidden": "true" }), text);
  let value = "", level = "info";
  return {
    el,
    set(p) {
      if ("value" in p) value = String(p.value ?? "");
      if ("level" in p) level = ["warning", "error"].includes(p.level) ? p.level : "info";
      el.dataset.level = value ? level : "none";
      setText(text, value);
    },
  };
}

function progress(node) {
  let value = 0, text = null;
  const filled = h("span", { class: "filled" }), words = h("span", { class: "words" });
  const control = h("span", { class: "bar", role: "progressbar", "aria-label": nameOf(node), "aria-valuemin": 0, "aria-valuemax": 100 }, filled, words);
  return {
    el: h("div", { class: "field progress" }, node.label ? h("span", { class: "label", "aria-hidden": "true" }, node.label) : null, control),
    control,
    set(p) {
      if ("value" in p) value = clamp(Number(p.value) || 0, 0, 1);
      if ("text" in p) text = p.text;
      const percent = Math.floor(value * 100 + 1e-9), shown = text ?? `${percent} %`;
      filled.style.width = `${value * 100}%`;
      control.setAttribute("aria-valuenow", percent);
      control.setAttribute("aria-valuetext", shown);
      setText(words, shown);
    },
  };
}

const NUMERIC = /^[<>≈~+\-−]?\s*[\d.,]+(e[+-]?\d+)?\s*%?$/i;

function table(node) {
  const columns = node.columns ?? [];
  const body = h("tbody");
  const whole = (node.widths ?? columns.map(() => 1)).reduce((a, b) => a + b, 0);
  const head = () => h("tr", {}, ...columns.map((name, i) => {
    const th = h("th", { scope: "col" }, name);
    th.style.width = `${100 * (node.widths?.[i] ?? 1) / whole}%`;
    return th;
  }));
  const el = h("div", { class: "table" });
  const titles = head(), heads = [...titles.children];
  // The header stands outside the part that scrolls; the table keeps its own for those who cannot see.
  const inner = h("table", { "aria-label": nameOf(node) }, h("thead", { class: "unseen" }, head()), body);
  const scroll = scroller(inner, TABLE_ROW);
  if (!node.height && !node.grow) scroll.el.style.height = `${(node.rows ?? 5) * TABLE_ROW}px`;
  if (node.label) el.append(h("span", { class: "label", "aria-hidden": "true" }, node.label));
  el.append(h("div", { class: "sheet" }, h("table", { class: "heads", "aria-hidden": "true" }, h("thead", {}, titles)), scroll.el));
  return {
    el,
    set(p) {
      if (!Array.isArray(p.cells)) return;
      const follows = node.style === "log" && scroll.atEnd();      // unless somebody has scrolled back
      body.replaceChildren(...p.cells.map(cells => h("tr", {}, ...columns.map((_, i) => {
        const cell = String(cells[i] ?? "");
        return h("td", { class: NUMERIC.test(cell) && "numeric" }, cell);
      }))));
      // A heading stands where its numbers do.
      heads.forEach((th, i) => th.classList.toggle("numeric", NUMERIC.test(p.cells[0]?.[i] ?? "")));
      scroll.update();
      if (follows) scroll.toEnd();
    },
  };
}

export const displays = { lamp, readout, message, progress, table };
