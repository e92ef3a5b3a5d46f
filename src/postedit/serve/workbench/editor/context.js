/** The segments before or after the current one, as its context. */
import { html, useEffect } from "../lib.js";
import { writtenTarget } from "../data/segment.js";
import { inLanguage } from "../ui/controls.js";
import { t } from "../strings.js";
import { rowOf } from "../data/segment_cache.js";

const AROUND = 2; // segments
const NONE = []; // the same array at each rendering

/** @param {{editing: import("./editing.js").Editing, languages: [string, string], side: 1 | -1}} props */
export function Context({ editing, languages, side }) {
  const { cache } = editing;
  const { number } = editing.segment.value;
  const numbers = cache.all.value ?? NONE; // not only those that match the filter
  const row = rowOf(numbers, number);
  const around = side < 0 ? numbers.slice(Math.max(0, row - AROUND), row) : numbers.slice(row + 1, row + 1 + AROUND);
  useEffect(() => { numbers === NONE ? cache.fetchNumbers() : cache.fetchAllOf(around); }, [number, numbers]);
  cache.version.value;
  const shown = around.map((one) => cache.peek(one)).filter(Boolean);
  return html`<ul class="context" aria-label=${t.editor.context}>
    ${shown.map((segment) => html`<li key=${segment.number}>
      <p ...${inLanguage(languages[0])}>${segment.src}</p>
      <p ...${inLanguage(languages[1])}>${(writtenTarget(segment) ?? segment.proposal).text}</p></li>`)}
  </ul>`;
}
