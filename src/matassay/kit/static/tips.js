// Tool tips, drawn in the page and without delay: a browser's own are never in a screenshot.
const GAP = 4;
let tip = null;
let owner = null;

export function watchTips(el) {
  tip = el;
  document.addEventListener("pointerover", event => {
    const next = event.target.closest?.("[data-tip]") ?? null;
    if (event.buttons) return;                       // not in the way of a drag
    if (next !== owner) next ? showTip(next) : hideTip();
  });
  document.documentElement.addEventListener("pointerleave", hideTip);
  document.addEventListener("pointerdown", hideTip);
  document.addEventListener("focusin", event => {
    // Only when the keyboard brought the focus; after a click the tip would cover what was clicked.
    const next = event.target.closest("[data-tip]");
    if (next && event.target.matches(":focus-visible")) showTip(next);
  });
  document.addEventListener("focusout", hideTip);
  document.addEventListener("keydown", hideTip);
}

function showTip(target) {
  owner = target;
  tip.textContent = target.dataset.tip;
  tip.hidePopover();                                 // to come out on top of a dialog opened since
  tip.showPopover();
  const box = target.getBoundingClientRect(), { offsetWidth: width, offsetHeight: height } = tip;
  const top = box.bottom + GAP + height > innerHeight ? box.top - GAP - height : box.bottom + GAP;
  tip.style.top = `${Math.round(Math.max(top, 0))}px`;
  tip.style.left = `${Math.round(Math.max(Math.min(box.left, innerWidth - width - GAP), GAP))}px`;
}

export function hideTip() {
  owner = null;
  if (tip?.matches(":popover-open")) tip.hidePopover();
}
