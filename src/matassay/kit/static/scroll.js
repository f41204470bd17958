// Scrolling that shows in a screenshot: a bar drawn by us, and jumps instead of the browser's smooth animation.
import { clamp, follow, h, wheelClicks } from "./dom.js";

const ROWS_A_CLICK = 3;
const SMALLEST_THUMB = 16;

/** Wraps `content`; `rowHeight` in px. Returns {el, update(), show(top, bottom), atEnd()}. */
export function scroller(content, rowHeight) {
  const thumb = h("span", { class: "thumb" });
  const bar = h("span", { class: "scrollbar", "aria-hidden": "true" }, thumb);
  const window_ = h("div", { class: "window" }, content);
  const el = h("div", { class: "scroller" }, window_, bar);
  const memory = {};
  const spare = () => window_.scrollHeight - window_.clientHeight;

  function update() {
    const visible = window_.clientHeight, whole = window_.scrollHeight;
    el.classList.toggle("scrolls", whole > visible);
    if (whole <= visible) return;
    const length = Math.max(SMALLEST_THUMB, Math.round(visible * visible / whole));
    thumb.style.height = `${length}px`;
    thumb.style.top = `${Math.round((visible - length) * window_.scrollTop / (whole - visible))}px`;
  }

  function to(top) {
    window_.scrollTop = Math.round(clamp(top, 0, spare()));
    update();
  }

  el.addEventListener("wheel", event => {
    if (spare() <= 0) return;
    event.preventDefault();
    const clicks = wheelClicks(event, memory);
    if (clicks) to(window_.scrollTop + clicks * ROWS_A_CLICK * rowHeight);
  }, { passive: false });
  window_.addEventListener("scroll", update);             // whatever else moves it: the browser, a test
  bar.addEventListener("pointerdown", event => {
    event.preventDefault();                               // keeps the focus where it is
    const box = bar.getBoundingClientRect();
    if (event.target !== thumb) {
      const down = event.clientY > thumb.getBoundingClientRect().top;
      return to(window_.scrollTop + (down ? 1 : -1) * (window_.clientHeight - rowHeight));
    }
    const start = window_.scrollTop, grip = event.clientY;
    follow(bar, event, e => to(start + (e.clientY - grip) * spare() / (box.height - thumb.offsetHeight)));
  });
  new ResizeObserver(update).observe(window_);

  return {
    el,
    update,
    /** Bring the stretch between two heights of the content into sight. */
    show(top, bottom) {
      if (top < window_.scrollTop) to(top);
      else if (bottom > window_.scrollTop + window_.clientHeight) to(bottom - window_.clientHeight);
      else update();
    },
    atEnd: () => window_.scrollTop >= spare() - 1,
    toEnd: () => to(Infinity),
  };
}
