/** Two texts for one segment, and the choice between them; or a text that the server refused. */
import { html } from "../lib.js";
import { wordChanges } from "../core/word_diff.js";
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
  const mine = entry.body.target, theirs = entry.theirs.target ?? "";
  return html`
    <section class="conflict" role="alert" aria-label=${t.editor.conflict}>
      <p class="strong">${t.editor.conflict}</p>
      <div class="sides">
        <div><h3>${t.editor.mine}</h3><p class="text" lang=${languages[1]} dir="auto">${differences(theirs, mine)}</p>
          <button type="button" class="primary" onClick=${() => settle(editing, entry, true)}>${t.editor.keepMine}</button></div>
        <div><h3>${t.editor.theirs(entry.theirs.updated_by)} <small>${format.moment(entry.theirs.updated)}</small></h3>
          <p class="text" lang=${languages[1]} dir="auto">${differences(mine, theirs)}</p>
          <button type="button" onClick=${() => settle(editing, entry, false)}>${t.editor.takeTheirs}</button></div>
      </div>
    </section>`;
}

/** Return a text in which what the other one does not have is marked. */
function differences(other, text) {
  const found = [];
  let done = 0, shift = 0;
  for (const change of wordChanges(other, text)) {
    const start = change.start + shift;
    found.push(text.slice(done, start));
    if (change.text) found.push(html`<ins>${change.text}</ins>`);
    done = start + change.text.length;
    shift += change.text.length - (change.end - change.start);
  }
  found.push(text.slice(done));
  return found;
}
