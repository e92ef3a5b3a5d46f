/** Short messages: shown for some seconds, or only spoken by screen readers. */
import { html, signal } from "../lib.js";

const SHOWN = 6000; // milliseconds

const spoken = signal("");
const toasts = signal(/** @type {{id: number, text: string, isBad: boolean}[]} */ ([]));
let count = 0;

/** Say something to screen readers alone. @param {string} text */
export function announce(text) {
  spoken.value = spoken.value === text ? `${text} ` : text; // the same again is read again
}

/** Show and say something. @param {string} text @param {{isBad?: boolean}} options */
export function toast(text, { isBad = false } = {}) {
  const id = ++count;
  toasts.value = [...toasts.value, { id, text, isBad }];
  setTimeout(() => { toasts.value = toasts.value.filter((one) => one.id !== id); }, isBad ? 2 * SHOWN : SHOWN);
}

/** Run something, and show its error as a message. @param {() => Promise<any>} work */
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
    <div class="toasts" role="status" aria-live="polite">
      ${toasts.value.map((one) => html`<p key=${one.id} class=${one.isBad ? "toast bad" : "toast"}>${one.text}</p>`)}
    </div>`;
}
