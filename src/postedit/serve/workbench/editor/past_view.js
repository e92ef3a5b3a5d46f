/** Dialog with the earlier states of a segment, which can be restored. */
import { html, useEffect, useRef } from "../lib.js";
import { difference } from "../ui/difference.js";
import { inLanguage, Time, useLoaded, Waiting } from "../ui/controls.js";
import { Dialog } from "../ui/dialog.js";
import { t } from "../strings.js";
import { choices } from "./past.js";

/** @param {{editing: import("./editing.js").Editing, language: string, onClose: () => void}} props */
export function PastDialog({ editing, language, onClose }) {
  const loaded = useLoaded(async () => choices(await editing.past.states()), [editing.number]);
  const list = useRef(null);
  useEffect(() => { list.current?.querySelector("button")?.focus(); }, [loaded.value]);
  const { text } = editing.draft.marked;
  const putBack = (row) => {
    onClose();
    editing.past.putBack(row);
  };
  return html`<${Dialog} title=${t.past.title(editing.number)} onClose=${onClose} wide>
    ${!loaded.value ? html`<${Waiting} loaded=${loaded} />`
      : loaded.value.length === 0 ? html`<p class="hint">${t.past.empty}</p>`
      : html`<p class="hint">${t.past.hint}</p><ol ref=${list} class="past" onKeyDown=${moveFocus}>${loaded.value.map((row) => html`<li key=${row.version}>
        <p class="past-head soft"><span class=${`badge ${row.state}`}>${t.editor.states[row.state] ?? row.state}</span>
          <bdi>${row.who}</bdi> <${Time} value=${row.made} />${row.filled_from && html` <span>${t.past.filledFrom(row.filled_from)}</span>`}</p>
        <p class="text" ...${inLanguage(language)}>${difference(text, row.target)}</p>
        ${!editing.isLocked && (editing.draft.holds(row)
          ? html`<p class="soft small">${t.past.isNow}</p>`
          : html`<button type="button" aria-label=${t.past.putBackOf(row)} onClick=${() => putBack(row)}>${t.past.putBack}</button>`)}
      </li>`)}</ol>`}
  <//>`;
}

/** Move the focus from button to button with the arrow keys. */
function moveFocus(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const buttons = [...event.currentTarget.querySelectorAll("button")];
  if (!step || !buttons.length) return;
  event.preventDefault();
  const at = buttons.indexOf(document.activeElement);
  buttons[Math.max(0, Math.min(buttons.length - 1, at + step))].focus();
}
