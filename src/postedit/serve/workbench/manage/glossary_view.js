/** The glossary of a project: a table to edit, or its text. */
import { html, useState } from "../lib.js";
import { get, request } from "../data/api.js";
import { useLoaded, Waiting } from "../ui/controls.js";
import { attempt, toast } from "../ui/messages.js";
import { t } from "../strings.js";

const PLAIN = { term: 0, translation: 1 };

/**
 * Read the text of a glossary. A first line may name its columns.
 * @param {string} text
 * @returns {{head: string[] | null, columns: {term: number, translation: number}, rows: string[][], bad: number | null}} `head`: the first line, if it names columns; `columns`: which of them are the term and its translation (-1: none); `bad`: the number of the first line that is no term
 */
export function readTerms(text) {
  const lines = text.split(/\r?\n/);
  const first = lines.findIndex((line) => line.trim());
  const columns = first < 0 ? null : columnsOf(lines[first].split("\t"));
  const bad = lines.findIndex((line, at) => line.trim() && !(columns && at === first) && !isTerm(line, columns));
  const rows = lines.filter((line) => line.trim()).map((line) => line.split("\t"));
  return { head: columns ? rows.shift() : null, columns: columns ?? PLAIN, rows, bad: bad < 0 ? null : bad + 1 };
}

function columnsOf(cells) {
  const names = cells.map((cell) => cell.trim().toLowerCase().replaceAll(" ", "_"));
  const [term, translation] = [names.indexOf("source"), names.indexOf("target")];
  return term >= 0 && (translation >= 0 || names.includes("forbidden")) ? { term, translation } : null;
}

function isTerm(line, columns) {
  return columns ? Boolean(line.split("\t")[columns.term]?.trim()) : /^[^\t]*\S[^\t]*\t.*\S/.test(line);
}

/** Return a row with another cell; it may have had none there. */
const withCell = (row, at, text) => Array.from({ length: Math.max(row.length, at + 1) }, (_, index) => (index === at ? text : row[index] ?? ""));

const writeTerms = (rows) => rows.filter((row) => row.some((cell) => cell.trim())).map((row) => `${row.map((cell) => cell.replace(/[\t\n]+/g, " ").trim()).join("\t")}\n`).join("");

/** @param {{project: any}} props */
export function GlossaryView({ project }) {
  const path = `/v1/projects/${project.id}/glossary`;
  const loaded = useLoaded(() => get(path), [project.id]);
  const [text, setText] = useState(null);
  const [isText, setIsText] = useState(false);
  if (loaded.value === undefined) return html`<${Waiting} loaded=${loaded} />`;
  const now = text ?? String(loaded.value);
  const { head, columns, rows, bad } = readTerms(now);
  const lines = (terms) => (head ? [head, ...terms] : terms);
  const asText = isText || columns.translation < 0;
  const save = (event) => {
    event.preventDefault();
    if (bad) return toast(t.glossary.bad(bad), { isBad: true });
    return attempt(async () => {
      await request("PUT", path, { raw: writeTerms(lines(rows)), type: "text/tab-separated-values; charset=utf-8" });
      toast(t.glossary.saved(rows.length));
    });
  };
  return html`<form onSubmit=${save}>
    <div class="toolbar"><p class="hint grow">${t.glossary.hint}</p>${columns.translation >= 0 && html`<button type="button" class="quiet" onClick=${() => setIsText(!isText)}>${isText ? t.glossary.asTable : t.glossary.asText}</button>`}</div>
    ${asText
      ? html`<label class="block"><span class="unseen">${t.glossary.label}</span><textarea class="text" rows="16" spellcheck="false" dir="auto" value=${now} onInput=${(event) => setText(event.target.value)} onKeyDown=${writeTab}></textarea></label>`
      : html`<${TermTable} rows=${rows} columns=${columns} project=${project} onChange=${(changed) => setText(lines(changed).map((row) => row.join("\t")).join("\n"))} />`}
    ${bad && html`<p class="warning" role="alert">${t.glossary.bad(bad)}</p>`}
    <div class="actions"><button class="primary" disabled=${project.role !== "manager"}>${t.glossary.save}</button></div></form>`;
}

/** In the text, Alt+Tab is taken: Ctrl+I writes a tab, and Tab goes on to the next control as everywhere. */
function writeTab(event) {
  if (!(event.ctrlKey && event.key === "i")) return;
  event.preventDefault();
  event.currentTarget.setRangeText("\t", event.currentTarget.selectionStart, event.currentTarget.selectionEnd, "end");
  event.currentTarget.dispatchEvent(new Event("input", { bubbles: true }));
}

function TermTable({ rows, columns: { term, translation }, project, onChange }) {
  const [draft, setDraft] = useState(rows.length ? rows : [["", ""]]);
  const change = (changed) => { setDraft(changed); onChange(changed.filter((row) => row[term] || row[translation])); };
  const set = (index, side) => (event) => change(draft.map((row, other) => (other === index ? withCell(row, side, event.target.value) : row)));
  return html`<table class="wide terms-table"><thead><tr><th scope="col" class="label">${t.glossary.term}</th><th scope="col" class="label">${t.glossary.translation}</th><td></td></tr></thead>
    <tbody>${draft.map((row, index) => html`<tr key=${index}>
      <td><input aria-label=${`${t.glossary.term} ${index + 1}`} lang=${project.source_language} dir="auto" value=${row[term] ?? ""} onInput=${set(index, term)} /></td>
      <td><input aria-label=${`${t.glossary.translation} ${index + 1}`} lang=${project.target_language} dir="auto" value=${row[translation] ?? ""} onInput=${set(index, translation)} /></td>
      <td><button type="button" class="quiet" aria-label=${t.glossary.remove(row[term] || String(index + 1))} onClick=${() => change(draft.filter((_, other) => other !== index))}>✕</button></td></tr>`)}</tbody></table>
    <button type="button" onClick=${() => setDraft([...draft, ["", ""]])}>${t.glossary.add}</button>`;
}
