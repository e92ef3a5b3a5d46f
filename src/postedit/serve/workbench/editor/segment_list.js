/** The segments of a file: search, filter, and the list. */
import { html, useCallback, useEffect, useRef, useState } from "../lib.js";
import { format, t } from "../strings.js";
import { rowOf } from "../data/segment_cache.js";
import { VirtualList } from "./virtual_list.js";
import { freshness, isUndecided, writtenTarget } from "../data/segment.js";
import { inLanguage } from "../ui/controls.js";

const ROW = 4.25; // rem, so that rows scale with the text size of the browser
const rowHeight = () => ROW * parseFloat(getComputedStyle(document.documentElement).fontSize); // pixels
const PAUSE = 300; // milliseconds after the last key press in the search

/** @param {{editing: import("./editing.js").Editing, languages: [string, string], onEnter: () => void}} props */
export function SegmentList({ editing, languages, onEnter }) {
  const { cache } = editing;
  const numbers = cache.numbers.value;
  const present = editing.segment.value?.number ?? -1;
  const row = numbers ? rowOf(numbers, present) : -1;
  const onVisible = useCallback((first, last) => {
    editing.visible = (cache.numbers.value ?? []).slice(first, last);
    cache.show(first, last);
  }, [editing, numbers]);
  return html`
    <section class="list" aria-label=${t.editor.segments}>
      <${Filters} editing=${editing} />
      ${cache.problem.value && html`<p class="warning" role="alert">${cache.problem.value}</p>`}
      ${numbers && numbers.length === 0 && html`<p class="hint pad">${t.editor.nothing}</p>`}
      ${cache.version.value >= 0 && numbers && html`<${VirtualList} id="segments" count=${numbers.length} rowHeight=${rowHeight()}
        selected=${numbers[row] === present ? row : -1} label=${t.editor.segments} keyOf=${(at) => numbers[at]}
        row=${(at) => html`<${Row} number=${numbers[at]} segment=${cache.peek(numbers[at])} editing=${editing} languages=${languages} />`}
        onSelect=${(at) => editing.open(numbers[at])} onClick=${async (at) => { await editing.open(numbers[at]); onEnter(); }} onEnter=${onEnter} onVisible=${onVisible} />`}
    </section>`;
}

function Filters({ editing }) {
  const { cache } = editing;
  const [text, setText] = useState(cache.filter.value.q);
  const timer = useRef(null);
  const choose = (values) => { // with the search text so far, even before the pause is over
    clearTimeout(timer.current);
    cache.choose({ ...cache.filter.value, q: text, ...values });
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  const onInput = (event) => {
    const q = event.target.value;
    setText(q);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => choose({ q }), PAUSE);
  };
  return html`
    <search class="filters">
      <label class="grow"><span class="unseen">${t.editor.searchHint}</span>
        <input id="search" type="search" placeholder=${t.editor.search} autocomplete="off" value=${text} onInput=${onInput}
          onKeyDown=${(event) => event.key === "Enter" && choose({ q: text })} /></label>
      <label><span class="unseen">${t.editor.show}</span>
        <select id="filter" value=${cache.filter.value.filter} onChange=${(event) => choose({ filter: event.target.value })}>
          ${Object.entries(t.editor.filters).map(([name, label]) => html`<option value=${name}>${label}</option>`)}
        </select></label>
      <output class="count" aria-live="polite">${cache.numbers.value ? t.editor.found(cache.numbers.value.length) : t.loading}</output>
    </search>`;
}

function Row({ number, segment: known, editing, languages }) {
  const segment = known && editing.withPending(known); // the server may have refused a change meanwhile
  if (!segment) return html`<span class="row-number">${format.number(number)}</span><span class="row-texts"><span class="skeleton"></span><span class="skeleton short"></span></span>`;
  const target = (writtenTarget(segment) ?? segment.proposal).text;
  const fresh = freshness(segment, editing.learnt.value.has(number));
  const here = editing.presence.on(number);
  return html`
    <span class="row-number">${format.number(number)}<${StateMark} segment=${segment} /></span>
    <span class="row-texts"><bdi class="row-src" ...${inLanguage(languages[0])}>${segment.src}</bdi>
      <bdi class="row-target" ...${inLanguage(languages[1])}>${target}</bdi></span>
    <span class="row-marks">
      ${fresh && html`<span class=${`mark ${fresh}`}>${t.editor.fresh[fresh]}</span>`}
      ${here.map((name) => html`<span class="mark person" title=${t.editor.isHere([name])}>${[...name].slice(0, 2).join("")}</span>`)}
    </span>`;
}

const SHAPES = {
  confirmed: "M2 6.5 5 9.5 10.5 3",
  draft: "M2 10 3 7 8.5 1.5 10.5 3.5 5 9z",
  locked: "M3 5.5V4a3 3 0 0 1 6 0v1.5M2 5.5h8v5h-8z",
};

/** The state of a segment, as an icon with a name. */
function StateMark({ segment }) {
  const isChanged = segment.proposal.edits.length > 0 && isUndecided(segment);
  const shape = SHAPES[segment.state];
  const name = `${t.editor.states[segment.state] ?? segment.state}${isChanged ? ", with a proposal" : ""}`;
  return html`<svg class=${`state ${segment.state} ${isChanged ? "has-proposal" : ""}`} viewBox="0 0 12 12" role="img" aria-label=${name}>
    ${shape ? html`<path d=${shape} />` : html`<circle cx="6" cy="6" r=${isChanged ? 3.5 : 2} />`}</svg>`;
}
