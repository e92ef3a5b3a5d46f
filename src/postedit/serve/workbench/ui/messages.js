/** Short messages: shown for some seconds, or only spoken by screen readers. */
import { html, signal } from "../lib.js";

const SHOWN = 6000; // milliseconds
const SAID = 1200; // milliseconds until the next message is announced
const MOST = 3; // messages shown or waiting at a time

const spoken = signal("");
const toasts = signal(/** @type {{id: number, text: string, isBad: boolean}[]} */ ([]));
const waiting = [];
let isSpeaking = false, count = 0;

/** Announce a message to screen readers only: one message after the other, none twice in a row. @param {string} text */
export function announce(text) {
  if (text === (waiting.at(-1) ?? spoken.value)) return;
  waiting.push(text);
  if (waiting.length > MOST) waiting.shift(); // old messages are of no use
  if (!isSpeaking) sayNext();
}

function sayNext() {
  const text = waiting.shift() ?? "";
  spoken.value = text;
  isSpeaking = text !== "";
  if (isSpeaking) setTimeout(sayNext, SAID);
}

/** Show and announce a message. @param {string} text @param {{isBad?: boolean}} options */
export function toast(text, { isBad = false } = {}) {
  const id = ++count;
  toasts.value = [...toasts.value.filter((one) => one.text !== text), { id, text, isBad }].slice(-MOST);
  announce(text);
  setTimeout(() => { toasts.value = toasts.value.filter((one) => one.id !== id); }, isBad ? 2 * SHOWN : SHOWN);
}

/** Run a function, and show its error, if any, as a message. @param {() => Promise<any>} work */
export async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    if (error.name !== "ApiError" && error.status === undefined) throw error;
    toast(error.message, { isBad: true });
    return undefined;
  }
}

export function Messages() {
  return html`
    <div class="unseen" role="status" aria-live="polite">${spoken.value}</div>
    <div class="toasts" aria-hidden="true">
      ${toasts.value.map((one) => html`<p key=${one.id} class=${one.isBad ? "toast bad" : "toast"}>${one.text}</p>`)}
    </div>`;
}
