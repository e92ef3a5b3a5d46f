/** Texts that could not be saved because their place is gone; people can read, copy or discard them. */
import { html, useRef, useState } from "../lib.js";
import { format, t } from "../strings.js";

/** Return whether an error means that a place is gone or not accessible, not that the service cannot be reached. @param {import("../data/api.js").ApiError | null} error */
export const isGone = (error) => error?.status === 403 || error?.status === 404;

/** @param {{queue: import("../data/save_queue.js").SaveQueue | null, isHere: (entry: import("../data/save_queue.js").Entry) => boolean}} props `isHere`: whether an entry belongs to what is gone */
export function LeftTexts({ queue, isHere }) {
  const entries = (queue?.entries.value ?? []).filter((entry) => (entry.refused || entry.theirs) && isHere(entry));
  if (!entries.length) return null;
  return html`<section class="card"><h2>${t.left.title}</h2><p class="hint">${t.left.hint}</p>
    ${entries.map((entry) => html`<${LeftText} key=${entry.edit_id} entry=${entry} onDiscard=${() => queue.drop(entry)} />`)}</section>`;
}

function LeftText({ entry, onDiscard }) {
  const field = useRef(null);
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    field.current.select();
    let isDone = true;
    try {
      await navigator.clipboard.writeText(entry.body.target);
    } catch {
      isDone = document.execCommand("copy"); // pages without TLS, from other machines, have no clipboard API
    }
    setCopied(isDone);
  };
  const name = t.editor.segment(entry.number);
  return html`<div class="left"><label class="block"><span class="strong">${name}</span> ${entry.refused && html`<span class="soft">${entry.refused}</span>`}
      <textarea ref=${field} class="text" rows="3" readonly dir="auto" value=${entry.body.target}></textarea></label>
    <div class="actions"><button type="button" aria-label=${`${t.left.copy}: ${name}`} onClick=${copy}>${t.left.copy}</button>
      <button type="button" class="danger" aria-label=${`${t.editor.discard}: ${name}`} onClick=${onDiscard}>${t.editor.discard}</button>
      <span class="soft" role="status">${isCopied && t.left.copied(format.number(entry.number))}</span></div></div>`;
}
