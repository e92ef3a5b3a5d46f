/** A conflict: two texts for one segment to choose from; or a text that the server refused. */
import { html } from "../lib.js";
import { inLanguage } from "../ui/controls.js";
import { difference } from "../ui/difference.js";
import { writtenTarget } from "../data/segment.js";
import { format, t } from "../strings.js";
import { discard, settle } from "./settling.js";

/** @param {{editing: import("./editing.js").Editing, languages: [string, string]}} props */
export function Conflict({ editing, languages }) {
  const { queue, file, segment } = editing;
  queue.entries.value;
  const entry = queue.pending(file, segment.value.number);
  if (entry?.refused) {
    return html`<div class="warning" role="alert"><p>${t.editor.refusal(entry.refused)}</p>
      <div class="actions"><button type="button" onClick=${() => queue.again(entry)}>${t.retry}</button>
        <button type="button" onClick=${() => discard(editing, entry)}>${t.editor.discard}</button></div></div>`;
  }
  if (!entry?.theirs) return null;
  const saved = editing.readSaved(entry.theirs), isOpen = entry.body.state === "open"; // if a target is discarded, the proposal stands
  const mine = isOpen ? editing.draft.proposal.text : entry.body.target, { text: theirs } = writtenTarget(saved) ?? saved.proposal;
  return html`
    <section class="conflict" role="alert" aria-label=${t.editor.conflict}>
      <p class="strong">${t.editor.conflict}</p>
      <div class="sides">
        <div><h3>${t.editor.mine}</h3><p class="text" ...${inLanguage(languages[1])}>${difference(theirs, mine, false)}</p>
          <button type="button" class="primary" onClick=${() => settle(editing, entry, true)}>${t.editor.keepMine}</button></div>
        <div><h3>${t.editor.theirs(entry.theirs.updated_by)} <small>${format.moment(entry.theirs.updated)}</small></h3>
          <p class="text" ...${inLanguage(languages[1])}>${difference(mine, theirs, false)}</p>
          <button type="button" onClick=${() => settle(editing, entry, false)}>${t.editor.takeTheirs}</button></div>
      </div>
    </section>`;
}
