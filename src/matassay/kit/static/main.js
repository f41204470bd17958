// Joins the socket to the panel, and offers the runner what it needs: `window.matassay`.
import { Connection } from "./connection.js";
import { Panel } from "./panel.js";
import { watchTips } from "./tips.js";

const link = document.getElementById("link");
const lost = document.getElementById("lost");
const panel = new Panel(document.getElementById("panel"), (id, args, gesture) => connection.send(id, args, gesture));

const connection = new Connection({
  panel(message) {
    panel.prepare(message);
  },
  commit(message, frames) {
    panel.commit(message, frames);
    showLink(true);
  },
  lost() {
    showLink(false);
  },
});

function showLink(up) {
  panel.setInert(!up);
  link.className = up ? "up" : "";
  link.textContent = up ? "Connected" : "Offline";
  link.setAttribute("aria-label", `Connection: ${up ? "on" : "off"}`);
  // The strip goes to the top layer, or an open dialog would hide it.
  if (up) lost.hidePopover();
  else lost.showPopover();
}

window.matassay = {
  get connected() { return connection.connected; },
  get painted() { return connection.painted; },
  /** Everything this page has sent so far; the runner hands it to `step`. */
  mark: () => ({ connection: connection.name, seq: connection.seq }),
};

watchTips(document.getElementById("tip"));
connection.open();
