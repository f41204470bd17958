// The socket: messages in order, numbered events out, acknowledgement once painted, reconnection.
import { decode } from "./frames.js";

const FIRST_RETRY_MS = 250;
const LAST_RETRY_MS = 4000;

export class Connection {
  name = null;         // the server's name for this connection; null before its panel message
  seq = 0;             // events sent on this connection
  painted = 0;         // last revision on the screen
  connected = false;   // a panel of this connection has been received and the socket is open

  #handlers;
  #socket = null;
  #retry = FIRST_RETRY_MS;
  #timer = 0;
  #at = undefined;

  /** `handlers`: `panel(message)`, `commit(message, frames)`, `lost()`. */
  constructor(handlers) {
    this.#handlers = handlers;
    // A laptop that wakes up should not sit out the rest of a long pause.
    addEventListener("online", () => { if (!this.#socket) this.open(); });
    this.#watchPointer();
  }

  /** Where the pointer was when it caused what is sent next; nothing for keys. A person's actions are recorded with it. */
  #watchPointer() {
    const pointed = event => {
      // The click that Enter or Space makes has no pointer either.
      const keyed = event.type === "click" && event.detail === 0;
      this.#at = keyed ? undefined : [Math.round(event.clientX), Math.round(event.clientY)];
    };
    for (const type of ["pointerdown", "pointermove", "pointerup", "click", "dblclick", "wheel"]) {
      addEventListener(type, pointed, { capture: true, passive: true });
    }
    addEventListener("keydown", () => { this.#at = undefined; }, true);
  }

  open() {
    clearTimeout(this.#timer);
    const address = new URL("ws", location.href);
    address.search = location.search;                // what the address asks of the pictures (`codec`) is the server's business
    address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = this.#socket = new WebSocket(address);
    socket.binaryType = "arraybuffer";
    const frames = [];
    let queue = Promise.resolve();       // one message at a time: decoding and painting take a while
    socket.onmessage = event => {
      // Decoding starts at once, so that it overlaps with the messages before it.
      const ready = event.data instanceof ArrayBuffer ? decode(event.data).catch(complain) : null;
      queue = queue.then(() => ready ? frames.push(ready) : this.#receive(socket, event.data, frames)).catch(complain);
    };
    socket.onclose = () => {
      if (socket !== this.#socket) return;
      this.#socket = null;
      this.connected = false;
      this.#handlers.lost();
      this.#timer = setTimeout(() => this.open(), this.#retry);
      this.#retry = Math.min(this.#retry * 2, LAST_RETRY_MS);
    };
  }

  /** Report a gesture. Returns its number, or 0 when there is nobody to tell. */
  send(id, args = [], gesture = undefined) {
    if (!this.connected) return 0;
    this.seq += 1;
    this.#socket.send(JSON.stringify({ seq: this.seq, id, args, gesture, at: this.#at }));
    return this.seq;
  }

  async #receive(socket, text, frames) {
    if (socket !== this.#socket) return;             // left over from a connection that is gone
    const message = JSON.parse(text);
    if (message.t === "panel") {
      this.#handlers.panel(message);
      this.name = message.connection;
      this.seq = 0;
      this.connected = true;
      this.#retry = FIRST_RETRY_MS;
    } else if (message.t === "commit") {
      // All pictures are ready before anything changes: one revision, one paint.
      const decoded = await Promise.all(frames.splice(0));
      try {
        this.#handlers.commit(message, decoded.filter(Boolean));
      } finally {
        await painting();
        this.painted = message.rev;
        if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ painted: message.rev }));
      }
    }
  }
}

/** Resolves after the next frame is produced; a hidden page has no frames and must not make the server wait. */
function painting() {
  return new Promise(done => {
    if (document.hidden) return setTimeout(done);
    const stop = new AbortController();
    const finish = () => { stop.abort(); done(); };
    document.addEventListener("visibilitychange", finish, stop);
    // The callback comes before the frame's layout and paint, the next task after them.
    requestAnimationFrame(() => setTimeout(finish));
  });
}

const complain = error => console.warn("matassay:", error);
