/**
 * Events of a project as they happen: what others change, and where they are. With HTTP/1.1, a browser opens at most
 * six connections to a host, so all tabs share one stream, which the tab that holds a lock reads and passes on. Hidden
 * tabs do not listen; a tab that becomes visible again asks for the events that it has missed.
 */
import { ApiError, get, withQuery } from "./api.js";

const FUTURE = 10 ** 12; // number of an event that does not exist yet: the answer has the number of the last one
const KINDS = ["segment", "file", "job", "correction", "project", "member", "presence"];
const PAUSE = 3000; // milliseconds between polls while there is no stream
const REST = 20; // polls before the next stream, if one did not open
const PATIENCE = 10_000; // milliseconds for a stream to open; some proxies hold it back for ever
const canShare = () => Boolean(globalThis.BroadcastChannel && globalThis.navigator?.locks);

/**
 * Listen to a project until the returned function is called.
 * @param {string} project @param {(kind: string, data: any) => void} onEvent
 * @param {(isFirst: boolean) => void} onOpen
 *   called when events begin to arrive, also after a break, whose events follow; `isFirst` at the first time, and when
 *   the service was restored from a backup: what was read before may be out of date
 */
export function listen(project, onEvent, onOpen = () => {}) {
  const listener = new Listener(project, onEvent, onOpen);
  return () => listener.close();
}

class Listener {
  constructor(project, onEvent, onOpen) {
    Object.assign(this, { project, onEvent, onOpen, last: null, isFirst: true });
    this.onVisibility = () => (document.visibilityState === "hidden" ? this.#stop() : this.#start());
    document.addEventListener("visibilitychange", this.onVisibility);
    this.onVisibility();
  }

  close() {
    document.removeEventListener("visibilitychange", this.onVisibility);
    this.#stop();
  }

  #start() {
    if (this.running) return;
    this.running = new AbortController();
    const { signal } = this.running;
    if (!canShare()) {
      this.#read(signal);
      return;
    }
    const name = `postedit.events.${this.project}`;
    this.channel = new BroadcastChannel(name);
    this.early = []; // events from other tabs that arrive before this one has caught up
    this.channel.onmessage = ({ data }) => {
      if (data.isOpen) this.onOpen(false);
      else if (data.last !== undefined) this.#goBack(data.last);
      else if (this.early) this.early.push(data.event);
      else this.#take(data.event);
    };
    const joined = this.#join(signal);
    navigator.locks.request(name, { signal }, () => joined.then(() => this.#read(signal))).catch((error) => {
      if (error.name !== "AbortError") throw error; // the tab was hidden before it got the lock
    });
  }

  async #join(signal) {
    while (!signal.aborted && !(await this.#catchUp(signal))) await pause(PAUSE, signal);
    if (signal.aborted) return;
    this.early.forEach((event) => this.#take(event));
    this.early = undefined;
    this.#opened();
  }

  #opened() {
    const { isFirst } = this;
    this.isFirst = false;
    this.onOpen(isFirst);
  }

  #stop() {
    this.running?.abort();
    this.running = undefined;
    this.channel?.close();
    this.channel = undefined;
  }

  /** Handle an event, unless it has arrived before. */
  #take(event) {
    if (this.last !== null && event.id <= this.last) return;
    this.last = event.id;
    this.onEvent(event.kind, event);
  }

  /** Start again after an event: the service was restored from a backup in which later events do not exist. */
  #goBack(last) {
    if (this.last === null || this.last <= last) return; // done already, through another tab
    this.last = last;
    this.onOpen(true);
  }

  /** Handle an event, and pass it on to the other tabs. */
  #pass(event) {
    this.channel?.postMessage({ event });
    this.#take(event);
  }

  /** Read events until this tab is hidden or closed, by a stream or, while there is none, by polling. */
  async #read(signal) {
    let isUp = Boolean(this.channel), hadStream = false, rest = 0; // with a channel, the tab has caught up; `rest`: polls before the next stream
    while (!signal.aborted) {
      const wasUp = isUp;
      isUp = await this.#catchUp(signal, (event) => this.#pass(event));
      if (isUp && !wasUp) {
        this.channel?.postMessage({ isOpen: true });
        this.#opened();
      }
      if (isUp && rest-- <= 0) {
        hadStream = await this.#stream(signal);
        rest = hadStream ? 0 : REST;
        isUp = !hadStream; // if the stream broke, the server may be gone
      } else hadStream = false;
      await pause(hadStream ? PAUSE / 6 : PAUSE, signal);
    }
  }

  /** Ask for the events since the last known one; return whether there was an answer. */
  async #catchUp(signal, take = (event) => this.#take(event)) {
    try {
      for (let isMore = true; isMore;) {
        const known = this.last, isNew = known === null;
        const path = withQuery(`/v1/projects/${this.project}/events.json`, isNew ? { after: FUTURE, limit: 1 } : { after: known });
        const { events, last } = await get(path, { signal });
        if (isNew) this.last ??= last;
        else if (last < known) {
          this.channel?.postMessage({ last });
          this.#goBack(last);
          return true;
        }
        events.forEach(take);
        isMore = events.length > 0 && this.last < last;
      }
      return true;
    } catch (error) {
      if (!(error instanceof ApiError) && error.name !== "AbortError") throw error;
      return false; // there is no connection, or nobody is signed in
    }
  }

  /** Read a stream until it breaks; return whether it opened. */
  #stream(signal) {
    return new Promise((resolve) => {
      const source = new EventSource(withQuery(`/v1/projects/${this.project}/events`, { after: this.last }));
      let hasOpened = false;
      const end = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", end);
        source.close();
        resolve(hasOpened);
      };
      const timer = setTimeout(end, PATIENCE);
      source.addEventListener("open", () => { hasOpened = true; clearTimeout(timer); });
      source.addEventListener("error", end);
      for (const kind of KINDS) source.addEventListener(kind, (event) => this.#pass(JSON.parse(event.data)));
      signal.addEventListener("abort", end);
    });
  }
}

/** Wait for some time, or until a signal is aborted. */
function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end); // as a signal outlives thousands of pauses
      resolve(undefined);
    };
    const timer = setTimeout(end, milliseconds);
    signal.addEventListener("abort", end);
  });
}
