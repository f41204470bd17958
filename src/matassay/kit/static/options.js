// A list of options as list boxes and the pop-up of drop-downs show it: drawing, highlight, type-ahead.
import { clamp, h } from "./dom.js";
import { scroller } from "./scroll.js";

export const ROW = 20;                       // px, as in controls.css
const TYPE_AHEAD_MS = 1000;

export class OptionList {
  choices = [];
  active = -1;
  #items = [];
  #typed = "";
  #typedAt = 0;

  /** `pick(index)` when an option is clicked. */
  constructor(id, name, pick) {
    this.id = id;
    this.list = h("div", { role: "listbox", id, "aria-label": name, class: "options" });
    this.scroll = scroller(this.list, ROW);
    this.el = this.scroll.el;
    // The focus stays with the control that owns the list.
    this.list.addEventListener("pointerdown", event => event.preventDefault());
    this.list.addEventListener("click", event => {
      const index = this.#items.indexOf(event.target.closest("[role=option]"));
      if (index >= 0) pick(index);
    });
  }

  setChoices(choices) {
    if (JSON.stringify(choices) === JSON.stringify(this.choices)) return;
    this.choices = choices.map(String);
    this.#items = this.choices.map((text, i) => h("div", { role: "option", id: `${this.id}-${i}`, "aria-selected": "false" }, text));
    this.list.replaceChildren(...this.#items);
    this.scroll.update();
  }

  /** Mark the option that holds (`aria-selected`). */
  select(value) {
    this.#items.forEach((item, i) => item.setAttribute("aria-selected", this.choices[i] === value));
  }

  /** Move the highlight; `owner` is the control that has the focus. */
  activate(index, owner, reveal = true) {
    this.#items[this.active]?.classList.remove("active");
    this.active = index;
    const item = this.#items[index];
    if (!item) return owner.removeAttribute("aria-activedescendant");
    item.classList.add("active");
    owner.setAttribute("aria-activedescendant", item.id);
    if (reveal) this.scroll.show(index * ROW, (index + 1) * ROW);
  }

  indexAt(target) {
    return this.#items.indexOf(target.closest("[role=option]"));
  }

  /** Where a key leads from `index`, or null. */
  keyTarget(event, index, page) {
    const last = this.choices.length - 1;
    if (last < 0) return null;
    const to = { ArrowDown: index + 1, ArrowUp: index - 1, PageDown: index + page, PageUp: index - page, Home: 0, End: last }[event.key];
    if (to !== undefined) return clamp(to, 0, last);
    if (event.key.length === 1 && event.key !== " " && !event.ctrlKey && !event.metaKey && !event.altKey) return this.#typeAhead(event, index);
    return null;
  }

  /** What was typed before belongs to another search. */
  forget() {
    this.#typed = "";
  }

  #typeAhead(event, index) {
    if (event.timeStamp - this.#typedAt > TYPE_AHEAD_MS) this.forget();
    this.#typedAt = event.timeStamp;
    const letter = event.key.toLowerCase();
    this.#typed += letter;
    // The same letter again walks through the options that begin with it.
    const same = [...this.#typed].every(c => c === letter);
    return this.#find(same ? letter : this.#typed, same ? index + 1 : Math.max(index, 0));
  }

  #find(sought, from) {
    const n = this.choices.length;
    for (let k = 0; k < n; k++) {
      const i = (from + k) % n;
      if (this.choices[i].toLowerCase().startsWith(sought)) return i;
    }
    return null;
  }
}
