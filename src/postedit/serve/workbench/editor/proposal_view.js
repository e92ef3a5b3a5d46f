/** The proposal as differences within the machine translation; each edit is a button that reverts it. */
import { html } from "../lib.js";
import { inLanguage } from "../ui/controls.js";
import { difference, visible } from "../ui/difference.js";
import { t } from "../strings.js";
import { Chip, parts } from "./marked_text.js";

/** @param {{editing: import("./editing.js").Editing, language: string}} props */
export function ProposalView({ editing, language }) {
  const draft = editing.draft;
  editing.revision.value; // so that it is rendered again with each change
  const { proposal } = draft;
  const codesIn = (from, to, isFirst) => proposal.codes.filter((code) => code.at <= to && (code.at > from || (isFirst && code.at === from)));
  const stretch = (from, to, isFirst) => parts(proposal.text, codesIn(from, to, isFirst), [], from, to);
  const pieces = [];
  let done = 0;
  proposal.edits.forEach((edit, number) => {
    const [start, end] = edit.pe_span;
    pieces.push(stretch(done, start, number === 0));
    const codes = codesIn(start, end, false);
    const inside = codes.filter((code) => code.at < end);
    const after = inside.length ? parts(proposal.text, inside, [], start, end) : visible(edit.after);
    pieces.push(html`<${EditButton} key=${number} number=${number} edit=${edit} after=${after} status=${draft.status(number)}
      isLocked=${editing.isLocked} onToggle=${() => editing.toggle(number)} />`);
    pieces.push(codes.slice(inside.length).map((code) => html`<${Chip} code=${code} />`));
    done = end;
  });
  pieces.push(stretch(done, proposal.text.length, proposal.edits.length === 0));
  return html`<p class="text proposal" ...${inLanguage(language)}>${pieces}</p>`;
}

function EditButton({ number, edit, after, status, isLocked, onToggle }) {
  return html`<button type="button" class=${`edit ${status}`} aria-pressed=${status === "accepted" ? "true" : "false"} disabled=${isLocked} onClick=${onToggle}>
    <span class="edit-number">${number + 1}</span>${(typeof after === "string" && changesWithin(edit))
      || html`${edit.before && html`<del>${visible(edit.before)}</del>`}${edit.after && html`<ins>${after}</ins>`}`}
    <span class="unseen" dir="ltr">${t.editor.editState(status, edit.confidence)}</span></button>`;
}

/**
 * Return the changed words within an edit in a script without spaces, where an edit may be a whole sentence; null for others.
 * @param {{before: string, after: string}} edit
 */
export const changesWithin = ({ before, after }) => (after && UNSPACED.test(before) ? difference(before, after) : null);

const UNSPACED = /[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]/;
