/** Beside the segment: why each edit is proposed, glossary hits, matches and notes. */
import { html } from "../lib.js";
import { Confidence, inLanguage } from "../ui/controls.js";
import { visible } from "../ui/difference.js";
import { format, t } from "../strings.js";
import { changesWithin } from "./proposal_view.js";

const LEAST_SHARE = 0.25; // words are shown from this share of the largest weight

/** @param {{editing: import("./editing.js").Editing, languages: [string, string]}} props */
export function Beside({ editing, languages }) {
  const segment = editing.segment.value;
  const draft = editing.draft;
  if (!segment || !draft) return html`<aside class="beside" aria-label=${t.reasons.title}></aside>`;
  editing.revision.value;
  const { edits } = draft.proposal;
  const matches = matchesOf(editing);
  const terms = new Map(segment.terms.map((term) => [`${term.source}\t${term.target}`, term])); // each once, however often it occurs
  return html`
    <aside class="beside" aria-label=${t.reasons.title}>
      ${edits.length > 0 && html`<section><h2>${t.reasons.title}</h2><ol class="why">
        ${edits.map((edit, number) => html`<${EditReasons} key=${number} isWaiting=${editing.renewal.isExplaining.value} edit=${edit} number=${number} status=${draft.status(number)} languages=${languages} />`)}
      </ol></section>`}
      ${terms.size > 0 && html`<section><h2>${t.reasons.terms}</h2><dl class="terms">
        ${[...terms.values()].map((term) => html`<div><dt><bdi ...${inLanguage(languages[0])}>${term.source}</bdi></dt><dd><bdi ...${inLanguage(languages[1])}>${term.target}</bdi></dd></div>`)}
      </dl></section>`}
      ${matches.length > 0 && html`<section><h2>${t.reasons.matches}</h2><ul class="matches">
        ${matches.map((match) => html`<${Match} match=${match} editing=${editing} languages=${languages} />`)}
      </ul></section>`}
      ${segment.notes.length > 0 && html`<section><h2>${t.reasons.notes}</h2>${segment.notes.map((note) => html`<p class="note" dir="auto">${note}</p>`)}</section>`}
    </aside>`;
}

/** The matches from the file and from the corrections of the project, the most similar first. */
function matchesOf(editing) {
  const share = ({ score }) => (typeof score !== "number" ? 0 : score > 1 ? score / 100 : score);
  return [...editing.segment.value.matches, ...editing.matches.found.value].sort((a, b) => share(b) - share(a));
}

/** @param {import("./editing.js").Editing} editing */
export const bestMatch = (editing) => (editing.segment.value ? matchesOf(editing)[0] : undefined);

function EditReasons({ isWaiting, edit, number, status, languages }) {
  return html`<li class=${status}>
    <p class="why-edit"><span class="edit-number">${number + 1}</span>
      ${beforeAndAfter(edit, inLanguage(languages[1]))}</p>
    <${Confidence} value=${edit.confidence} />
    <ul>${edit.reasons.length
      ? edit.reasons.map((reason) => html`<li><${Reason} reason=${reason} languages=${languages} /></li>`)
      : html`<li class="soft">${isWaiting ? t.reasons.waiting : t.reasons.none}</li>`}</ul>
  </li>`;
}

function beforeAndAfter(edit, language) {
  const within = changesWithin(edit);
  if (within) return html`<bdi ...${language}>${within}</bdi>`;
  const shown = (text) => visible(text) || t.reasons.deleted;
  return html`<bdi ...${language}><del>${shown(edit.before)}</del></bdi> → <bdi ...${language}><ins>${shown(edit.after)}</ins></bdi>`;
}

function Reason({ reason, languages }) {
  const { kind } = reason;
  if (kind === "correction") return html`<${CorrectionReason} reason=${reason} languages=${languages} />`;
  if (kind === "source" && !reason.words.length) return html`${t.reasons.notInSource}`;
  if (kind === "source") return html`${t.reasons.source} ${weightiest(reason.words).map((word, index) => html`${index > 0 && ", "}<q><bdi ...${inLanguage(languages[0])}>${word.text}</bdi></q>`)}`;
  if (kind === "training") return html`${t.reasons.training(reason.made, reason.kept)}`;
  if (kind === "glossary") return html`${t.reasons.glossary(reason.term, reason.translation)}`;
  return html`${kind}`;
}

/** Return the words that contribute most to an edit, in the order of the text. */
function weightiest(words) {
  const least = Math.max(...words.map((word) => word.nats ?? 0)) * LEAST_SHARE;
  return words.filter((word) => (word.nats ?? 0) >= least);
}

function CorrectionReason({ reason, languages }) {
  const last = reason.corrections.at(-1);
  const newest = reason.corrections.reduce((best, one) => (one.number > best.number ? one : best), last);
  return html`${t.reasons.corrections(reason.count)}${newest && html`; ${t.reasons.last(newest.author, newest.made && format.moment(newest.made))}
    <details><summary>${t.reasons.example}</summary>
      <p class="soft" ...${inLanguage(languages[0])}>${newest.src}</p>
      <p ...${inLanguage(languages[1])}>${newest.pe}</p></details>`}`;
}

function Match({ match, editing, languages }) {
  const score = typeof match.score === "number" ? match.score : null;
  return html`<li>
    ${match.src && html`<p class="soft" ...${inLanguage(languages[0])}>${match.src}</p>`}
    <p ...${inLanguage(languages[1])}>${match.target}</p>
    <p class="match-foot soft">${score !== null && html`<span>${format.percent(score > 1 ? score / 100 : score)}</span>`}<span>${match.number ? t.reasons.correctionBy(match.author) : match.origin}</span>
      ${!editing.isLocked && html`<button type="button" class="quiet" onClick=${() => editing.putText(match.target)}>${t.reasons.useMatch}</button>`}</p>
  </li>`;
}
