/** The current segment: source, machine translation, proposal and target. */
import { html, useEffect, useLayoutEffect, useRef } from "../lib.js";
import { countPoints } from "../core/code_points.js";
import { disorder, plain } from "../core/flat_text.js";
import { freshness, isRejected, isUndecided } from "../data/segment.js";
import { Confidence, inLanguage } from "../ui/controls.js";
import { announce, toast } from "../ui/messages.js";
import { format, t } from "../strings.js";
import { Conflict } from "./conflict.js";
import { parts } from "./marked_text.js";
import { ProposalView } from "./proposal_view.js";
import { keysOf } from "./shortcuts.js";
import { TargetField } from "./target_field.js";

/** @param {{editing: import("./editing.js").Editing, languages: [string, string], fieldRef: {current: TargetField | null}, onPast: () => void}} props */
export function SegmentCard({ editing, languages, fieldRef, onPast }) {
  const segment = editing.withPending(editing.segment.value);
  const { draft } = editing;
  const { hasMt, proposal } = segment;
  const mt = { text: draft.proposal.mt, codes: draft.proposal.mt_codes };
  return html`
    <article class="segment" id="segment" tabindex="-1" aria-label=${t.editor.segment(segment.number)}>
      <${Head} editing=${editing} segment=${segment} />
      <${Conflict} editing=${editing} languages=${languages} />
      <dl class="texts">
        <dt>${t.editor.source}</dt>
        <dd class="text source" ...${inLanguage(languages[0])}>${parts(segment.src, segment.src_codes, termMarks(segment))}</dd>
        ${draft.proposal.edits.length > 0 && html`<dt>${t.editor.mt}</dt>
          <dd class="text mt" ...${inLanguage(languages[1])}>${parts(mt.text, mt.codes)}</dd>`}
        <dt>${t.editor.proposal}${proposal.edits.length > 0 && html`<${Confidence} value=${segment.confidence} />`}</dt>
        <dd>${proposalOrNot(editing, segment, languages, hasMt)}</dd>
        <dt id="target-label">${t.editor.target}</dt>
        <dd><${Field} editing=${editing} language=${languages[1]} fieldRef=${fieldRef} />
          <${Below} editing=${editing} segment=${segment} onPast=${onPast} /></dd>
      </dl>
    </article>`;
}

function proposalOrNot(editing, segment, languages, hasMt) {
  if (editing.draft.proposal.edits.length) return html`<${ProposalView} editing=${editing} language=${languages[1]} />`;
  const { text, codes } = editing.draft.proposal;
  const hint = segment.skipped ? t.editor.skipped(segment.skipped) : !hasMt ? t.editor.noMt : segment.proposal.isProposed ? t.editor.noChange
    : !segment.prepared && isUndecided(segment) ? t.editor.notYet : t.editor.noProposal;
  return html`${hasMt && html`<p class="text" ...${inLanguage(languages[1])}>${parts(text, codes)}</p>`}
    <p class="hint">${hint}</p>`;
}

function Head({ editing, segment }) {
  const here = editing.presence.on(segment.number);
  const fresh = freshness(segment, editing.learnt.value.has(segment.number));
  return html`<header class="segment-head">
    <h2>${t.editor.segment(segment.number)}</h2>
    <span class=${`badge ${segment.state}`}>${t.editor.states[segment.state] ?? segment.state}</span>
    ${isRejected(segment) && html`<span class="badge rejected">${t.editor.rejected}</span>`}
    ${fresh && html`<span class=${`badge ${fresh}`}>${t.editor.fresh[fresh]}</span>`}
    ${segment.repeats > 1 && html`<span class="soft">${t.editor.occurs(segment.repeats)}</span>`}
    ${here.length > 0 && html`<span class="badge person">${t.editor.isHere(here)}</span>`}
    ${segment.unit && html`<span class="soft unit" title=${segment.unit}>${segment.unit}</span>`}
    <span class="steps"><button type="button" class="quiet" aria-label=${t.editor.previous} title=${keysOf("previous")} onClick=${() => editing.step(-1)}>↑</button>
      <button type="button" class="quiet" aria-label=${t.editor.next} title=${keysOf("next")} onClick=${() => editing.step(1)}>↓</button></span>
  </header>`;
}

function termMarks(segment) {
  return segment.terms.filter((term) => term.span).sort((a, b) => a.span[0] - b.span[0])
    .map((term) => ({ start: term.span[0], end: term.span[1], show: (children) => html`<mark class="term" title=${term.target}>${children}</mark>` }));
}

/** The element of the target field; Preact only creates it, and `TargetField` manages its content. */
function Field({ editing, language, fieldRef }) {
  const ref = useRef(null);
  const segment = editing.segment.value;
  const revision = editing.revision.value;
  useLayoutEffect(() => {
    const field = new TargetField(ref.current, {
      get draft() { return editing.draft; },
      get breaksLines() { return editing.segment.value.src.includes("\n"); },
      changed: () => editing.changed(),
      composing: (isComposing) => editing.composing(isComposing),
      undo: () => editing.undo(),
      redo: () => editing.redo(),
      refuses: () => editing.refuses(),
      refused: (why) => (why === "nesting" ? toast(t.editor.refused[why]) : announce(t.editor.refused[why])),
      held: () => toast(t.editor.held),
    });
    fieldRef.current = field;
    return () => field.close();
  }, [editing]);
  useLayoutEffect(() => { fieldRef.current.show(); }, [segment, revision]);
  useEffect(() => {
    ref.current.closest("article").scrollIntoView({ block: "nearest" });
    ref.current.scrollIntoView({ block: "nearest" }); // last, as the field matters most if the screen is small
    if (document.activeElement === document.body) fieldRef.current.focus();
    announce(t.editor.arrived(segment, isRejected(segment))); // screen readers do not, as the field keeps the focus
  }, [segment.number]);
  return html`<div ref=${ref} class="text field" role="textbox" aria-multiline="true" aria-label=${t.editor.targetLabel(segment.number)}
    contenteditable=${editing.isLocked ? "false" : "true"} aria-readonly=${editing.isReadOnly ? "true" : "false"} tabindex="0"
    spellcheck="true" ...${inLanguage(language)} autocapitalize="off"></div>`;
}

function Below({ editing, segment, onPast }) {
  editing.revision.value;
  const { draft } = editing;
  const hasEdits = draft.proposal.edits.length > 0;
  const { history } = draft;
  const past = segment.version > 0 && html`<button type="button" title=${keysOf("past")} onClick=${onPast}>${t.editor.past}</button>`;
  if (editing.isLocked) return html`<p class="hint">${editing.mayWrite ? t.editor.locked : t.editor.readOnly}</p>${past && html`<div class="actions below">${past}</div>`}`;
  return html`
    <${Length} key=${segment.number} draft=${draft} most=${segment.max_length} />
    ${disorder(draft.content.codes) > disorder(draft.proposal.mt_codes) && html`<p class="warning">${t.editor.refused.nesting}</p>`}
    <div class="actions below">
      <button type="button" class="primary" title=${keysOf("confirm")} onClick=${() => editing.confirm()}>${t.editor.confirm}</button>
      ${hasEdits && html`<button type="button" title=${keysOf("acceptAll")} onClick=${() => editing.chooseAll(true)}>${t.editor.accept}</button>
        <button type="button" title=${keysOf("rejectAll")} onClick=${() => editing.chooseAll(false)}>${t.editor.reject}</button>`}
      <button type="button" title=${keysOf("undo")} disabled=${!history.canUndo && !segment.version} onClick=${() => editing.undo()}>${t.editor.undo}</button>
      <button type="button" title=${keysOf("redo")} disabled=${!history.canRedo} onClick=${() => editing.redo()}>${t.editor.redo}</button>
      ${past}
      ${segment.state === "confirmed" && html`<button type="button" title=${keysOf("reopen")} onClick=${() => editing.reopen()}>${t.editor.reopen}</button>`}
      ${segment.updated_by && html`<span class="soft last-by">${t.editor.lastBy(segment.updated_by, format.moment(segment.updated))}</span>`}
    </div>`;
}

function Length({ draft, most }) {
  const now = countPoints(plain(draft.content.flat));
  const isOver = most !== null && now > most;
  const text = most === null ? "" : `${t.editor.length(now, most)}${isOver ? ` · ${t.editor.tooLong(now - most)}` : ""}`;
  useEffect(() => { if (isOver) announce(text); }, [isOver]); // once, not with each letter
  return text && html`<p class=${isOver ? "length over" : "length"}>${text}</p>`;
}
