/**
 * Queue of changes that are not saved yet. The browser keeps each change until the server has saved it, so that a lost
 * connection, a killed server or a closed page loses nothing. Each entry has an id made here, by which the server saves
 * it once, however often it is sent.
 *
 * @typedef {{project: string, file: string, number: number, version: number, edit_id: string, body: any, tried?: boolean, refused?: string, theirs?: any}} Entry
 *   `tried`: it was sent, so the server may have it, whatever the response was;
 *   `refused`: the error message of the server; `theirs`: the segment as another person saved it meanwhile
 */
import { computed, signal } from "../lib.js";
import { ApiError, put } from "./api.js";
import { keep, ofBrowser, ofTab } from "./browser_storage.js";

const ALIVE = 4000; // milliseconds without a sign of life, after which the changes of another page are taken over
const LONGEST_WAIT = 8000;
const LONGEST_DELAY = 60_000; // milliseconds for a change that the server fails to save, while it saves others

export class SaveQueue {
  /**
   * @param {string} user  entries of another person are never sent
   * @param {{onSaved: (entry: Entry, answer: any) => void, send?: typeof put, storage?: Storage, tab?: string}} options
   */
  constructor(user, { onSaved, send = put, storage = ofBrowser, tab = tabName() }) {
    this.prefix = `postedit.unsaved.${encodeURIComponent(user)}/`;
    Object.assign(this, { user, onSaved, send, storage, tab });
    /** @type {import("../lib.js").Signal<Entry[]>} */
    this.entries = signal(this.#read(this.prefix + tab));
    this.isKept = signal(true); // whether the browser keeps the queue if this page is closed
    this.isOffline = signal(false);
    this.isSending = signal(false);
    this.isWriting = signal(false); // whether the editor has changes that are not in this queue yet
    /** Entries that the server failed to save, by `edit_id`: until when they wait, for how long, and the reason. */
    this.delays = signal(/** @type {Map<string, {until: number, wait: number, why: string}>} */ (new Map()));
    this.waiting = computed(() => this.entries.value.filter((entry) => !entry.refused && !entry.theirs));
    this.conflicts = computed(() => this.entries.value.filter((entry) => entry.theirs));
    this.wait = 500;
  }

  /** Take over the changes that closed pages left, and start sending. */
  start() {
    this.beat = setInterval(() => { this.#showLife(); this.#adopt(); }, ALIVE / 4);
    this.#showLife();
    this.#adopt();
    this.#set(this.entries.value.map((entry) => ({ ...entry, refused: undefined }))); // the reason may be gone
    this.isStopped = false;
    this.listening = new AbortController();
    const { signal: stopped } = this.listening;
    addEventListener("online", () => this.retry(), { signal: stopped });
    addEventListener("beforeunload", (event) => { if (!this.isKept.value) event.preventDefault(); }, { signal: stopped });
    addEventListener("pagehide", () => this.storage.removeItem(lifeKey(this.tab)), { signal: stopped });
    return this.retry();
  }

  /** Stop sending, since another person may be signed in now. */
  stop() {
    this.isStopped = true;
    this.listening?.abort();
    clearInterval(this.beat);
    clearTimeout(this.timer);
  }

  /** Return the newest waiting entry of a segment. @param {string} file @param {number} number */
  pending(file, number) {
    return this.entries.value.findLast((entry) => entry.file === file && entry.number === number);
  }

  /** Add a change; it replaces older ones of the same segment that were never sent. */
  put(file, number, version, body, project = "") {
    const isOlder = (entry) => !entry.tried && entry.file === file && entry.number === number;
    const older = this.entries.value.filter(isOlder);
    const seconds = [body, ...older.map((entry) => entry.body)].reduce((sum, one) => sum + (one.seconds ?? 0), 0);
    const entry = { project, file, number, version, body: seconds ? { ...body, seconds } : body, edit_id: newId(), theirs: older[0]?.theirs };
    this.#set([...this.entries.value.filter((other) => !isOlder(other)), entry]);
    return this.flush();
  }

  /** Settle a conflict: save our text over theirs, or drop ours. @param {Entry} entry @param {boolean} ours */
  resolve(entry, ours) {
    const rest = this.entries.value.filter((other) => other !== entry);
    this.#set(ours ? [...rest, { ...entry, version: entry.theirs.version, theirs: undefined, tried: false, edit_id: newId() }] : rest);
    return this.flush();
  }

  /** Send an entry again that the server refused. @param {Entry} entry */
  again(entry) {
    this.#set(this.entries.value.map((other) => (other === entry ? { ...entry, refused: undefined } : other)));
    return this.flush();
  }

  /** Forget an entry. @param {Entry} entry */
  drop(entry) { this.#set(this.entries.value.filter((other) => other !== entry)); }

  /** Send now, including entries that wait because the server failed to save them. */
  retry() {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.delays.value = new Map(Array.from(this.delays.value, ([id, delay]) => [id, { ...delay, until: 0 }]));
    return this.flush();
  }

  /** Entries that the server failed to save and that will be sent again; later ones do not wait for them. */
  get delayed() { return this.waiting.value.filter((entry) => this.delays.value.has(entry.edit_id)); }

  /** Return the entry to send next; changes of one segment keep their order, but do not hold up other segments. */
  #next() {
    const held = new Set();
    for (const entry of this.waiting.value) {
      const place = `${entry.file} ${entry.number}`;
      if ((this.delays.value.get(entry.edit_id)?.until ?? 0) > performance.now()) held.add(place);
      else if (!held.has(place)) return entry;
    }
    return undefined;
  }

  #delay(entry, why) {
    const wait = Math.min(2 * (this.delays.value.get(entry.edit_id)?.wait ?? 500), LONGEST_DELAY);
    this.delays.value = new Map(this.delays.value).set(entry.edit_id, { until: performance.now() + wait, wait, why });
    setTimeout(() => this.flush(), wait + 1);
  }

  /** Send waiting entries, one after the other. */
  async flush() {
    if (this.isStopped || this.sent || this.timer) return;
    const first = this.#next();
    if (!first) return;
    const entry = { ...first, tried: true };
    this.sent = entry;
    this.#set(this.entries.value.map((other) => (other === first ? entry : other)));
    this.isSending.value = true;
    try {
      const body = { ...entry.body, version: entry.version, edit_id: entry.edit_id };
      const answer = await this.send(`/v1/files/${entry.file}/segments/${entry.number}`, body);
      if (!answer?.segment) throw new ApiError(0, "The answer is not from the service."); // but from a proxy, such as its sign-in page
      this.#done(entry, answer);
    } catch (error) {
      this.#failed(entry, error);
    } finally {
      this.#forgetDelays();
      this.sent = undefined;
      this.isSending.value = false;
    }
    await this.flush();
  }

  #forgetDelays() {
    const waiting = new Set(this.entries.value.map((entry) => entry.edit_id));
    if (this.delays.value.size) this.delays.value = new Map([...this.delays.value].filter(([id]) => waiting.has(id)));
  }

  #done(entry, answer) {
    this.isOffline.value = false;
    this.wait = 500;
    const version = versionAfter(entry); // the answer may have another person's version, if this entry was saved before
    const same = (other) => other.file === entry.file && other.number === entry.number;
    this.#set(this.entries.value.filter((other) => other !== entry).map((other) => (same(other) ? { ...other, version } : other)));
    this.onSaved(entry, answer);
  }

  #failed(entry, error) {
    if (!(error instanceof ApiError)) throw error;
    const theirs = error.status === 409 ? error.body?.segment ?? error.body?.error?.segment : undefined;
    const newer = this.entries.value.find((other) => other !== entry && other.file === entry.file && other.number === entry.number);
    const replaced = (values) => this.#set(newer
      ? this.entries.value.filter((other) => other !== entry).map((other) => (other === newer ? { ...newer, ...values } : other))
      : this.entries.value.map((other) => (other === entry ? { ...entry, ...values, tried: false } : other)));
    const isRefused = !error.isPassing && error.status !== 401;
    if (isRefused && entry.body.state === "seen") this.drop(entry); // no text is lost
    else if (theirs) replaced({ theirs });
    else if (error.status >= 500) {
      this.isOffline.value = false;
      this.#delay(entry, error.message);
    } else if (!isRefused) {
      this.isOffline.value = error.status !== 401;
      this.timer = setTimeout(() => this.retry(), this.wait);
      this.wait = Math.min(this.wait * 2, LONGEST_WAIT);
    } else replaced(newer ? {} : { refused: error.message });
  }

  #set(entries) {
    this.entries.value = entries;
    const key = this.prefix + this.tab;
    if (!entries.length) this.storage.removeItem(key);
    this.isKept.value = !entries.length || keep(this.storage, key, JSON.stringify(entries));
  }

  #read(key) {
    try {
      return JSON.parse(this.storage.getItem(key) ?? "[]");
    } catch {
      return []; // written by something else
    }
  }

  #showLife() { keep(this.storage, lifeKey(this.tab), String(Date.now())); }

  #adopt() {
    const names = Array.from({ length: this.storage.length }, (_, index) => this.storage.key(index));
    for (const key of names.filter((name) => name.startsWith(this.prefix) && name !== this.prefix + this.tab)) {
      const life = lifeKey(key.slice(this.prefix.length));
      if (isRecent(this.storage.getItem(life))) continue;
      const left = this.#read(key);
      this.storage.removeItem(key); // first, to make room for the copy
      this.storage.removeItem(life);
      this.#set([...left, ...this.entries.value]);
    }
  }
}

/** Return the version of a segment after an entry is saved; looking at it keeps the version. @param {Entry} entry */
export const versionAfter = ({ version, body }) => (body.state === "seen" ? version : version + 1);

const newId = () => (crypto.randomUUID ? crypto.randomUUID() : uuidFrom(crypto.getRandomValues(new Uint8Array(16))));

/** Return a UUID from random bytes; pages without TLS, from other machines, have no `randomUUID`. */
function uuidFrom(bytes) {
  bytes[6] = (bytes[6] & 15) | 64;
  bytes[8] = (bytes[8] & 63) | 128;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** Return whether a sign of life is recent; one from the future was given before the clock was set back. @param {string | null} life */
const isRecent = (life) => Math.abs(Date.now() - Number(life ?? 0)) < ALIVE;

const lifeKey = (tab) => `postedit.tab.${tab}`;

/** Return the name of this page, which survives a reload; a duplicated page gets another name. */
function tabName() {
  const known = ofTab.getItem("postedit.tab");
  const isTaken = known && isRecent(ofBrowser.getItem(lifeKey(known)));
  const name = known && !isTaken ? known : newId();
  keep(ofTab, "postedit.tab", name);
  return name;
}
