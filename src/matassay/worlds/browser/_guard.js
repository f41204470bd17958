// Runs in every page before its own scripts. What a browser does by itself, outside the page or across pages, would
// make one episode depend on another or on the browser that is installed.
(() => {
  const stop = (type) => addEventListener(type, (e) => e.preventDefault(), { capture: true });
  stop("contextmenu"); // a native menu is on no screenshot and swallows the next click
  stop("dragstart"); // a native drag swallows the pointer events that follow
  addEventListener("wheel", (e) => e.ctrlKey && e.preventDefault(), { capture: true, passive: false }); // page zoom
  addEventListener("auxclick", (e) => e.target.closest?.("a") && e.preventDefault(), { capture: true }); // new tabs
  window.open = () => null;

  // The clipboard belongs to the browser, which other episodes share: each page gets one of its own.
  let clipboard = "";
  const selected = () => {
    const field = document.activeElement;
    try {
      if (typeof field?.selectionStart === "number")
        return field.value.slice(field.selectionStart, field.selectionEnd);
    } catch { /* kinds of input that have no selection range */ }
    return String(getSelection());
  };
  addEventListener("copy", (e) => { clipboard = selected() || clipboard; e.preventDefault(); }, { capture: true });
  addEventListener("cut", (e) => {
    clipboard = selected() || clipboard;
    e.preventDefault();
    document.execCommand("delete");
  }, { capture: true });
  addEventListener("paste", (e) => {
    e.preventDefault();
    if (clipboard) document.execCommand("insertText", false, clipboard);
  }, { capture: true });
})();
