/** The glossary of a project: a table to edit, or its text. */
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../lib.js";
import { requestTagged } from "../data/api.js";
import { KeptDraft } from "../data/browser_storage.js";
import { hasUnsaved, leave, leaving } from "../data/router.js";
import { user } from "../data/session.js";
import { inLanguage, useLoaded, Waiting } from "../ui/controls.js";
import { Dialog } from "../ui/dialog.js";
import { attempt, toast } from "../ui/messages.js";
import { t } from "../strings.js";

const TYPE = "text/tab-separated-values; charset=utf-8";
const STALE = 412; // HTTP status if the glossary is not the one that was read
const PLAIN = { term: 0, translation: 1 };
const PAGE = 100; // rows of the table shown at a time, as thousands of fields make a browser slow

/**
 * Parse the text of a glossary, whose first line may name its columns.
 * @param {string} text
 * @returns {{head: string[] | null, columns: {term: number, translation: number}, rows: string[][], bad: number | null}} `head`: the first line, if it names columns; `columns`: which of them are the term and its translation (-1: none); `bad`: the number of the first invalid line, or null
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

/** Return a row with one cell replaced, or added if the row was shorter. */
const withCell = (row, at, text) => Array.from({ length: Math.max(row.length, at + 1) }, (_, index) => (index === at ? text : row[index] ?? ""));

const writeTerms = (rows) => rows.filter((row) => row.some((cell) => cell.trim())).map((row) => `${row.map((cell) => cell.replace(/[\t\n]+/g, " ").trim()).join("\t")}\n`).join("");

/** Return whether two texts have the same lines, apart from blank ones. */
const isSame = (one, other) => one === other || linesOf(one) === linesOf(other);
const linesOf = (text) => text.split(/\r?\n/).filter((line) => line.trim()).join("\n");

/** @param {{project: any}} props */
export function GlossaryView({ project }) {
  const path = `/v1/projects/${project.id}/glossary`;
  const loaded = useLoaded(async () => {
    const { body, tag } = await requestTagged("GET", path);
    return { text: String(body), tag };
  }, [project.id]);
  if (loaded.value === undefined) return html`<${Waiting} loaded=${loaded} />`;
  return html`<${Terms} path=${path} project=${project} loaded=${loaded} />`;
}

function Terms({ path, project, loaded }) {
  const saved = loaded.value, mayWrite = project.role === "manager";
  const store = useMemo(() => new KeptDraft(user.value?.name ?? "", path), [path]);
  const [draft, setDraft] = useState(() => (mayWrite ? store.read() : null));
  const latest = useRef(draft);
  const [isKept, setKept] = useState(true);
  const [isText, setIsText] = useState(false);
  const [isRefused, setRefused] = useState(false); // because a term is not complete; until the next change
  const [turn, setTurn] = useState(0); // incremented when the table must start from other rows
  const isDirty = draft !== null && !isSame(draft.text, saved.text);
  const isStale = isDirty && draft.tag !== saved.tag;
  useEffect(() => {
    hasUnsaved.value = isDirty;
    return () => { hasUnsaved.value = false; };
  }, [isDirty]);

  useEffect(() => () => { leaving.value = null; }, []); // no question about a view that is gone

  const put = (next) => {
    if (!next) store.forget(latest.current);
    latest.current = next;
    setDraft(next);
    setKept(!next || store.write(next));
    setRefused(false); // else it would be told again and again while the term is being completed
  };
  const write = (text) => put(isSame(text, saved.text) ? null : { text, tag: isDirty ? latest.current.tag : saved.tag });
  const discard = () => { put(null); setTurn(turn + 1); };

  const now = isDirty ? draft.text : saved.text;
  const { head, columns, rows, bad } = readTerms(now);
  const lines = (terms) => (head ? [head, ...terms] : terms);
  const asText = isText || columns.translation < 0;
  const save = () => {
    setRefused(Boolean(bad));
    if (bad) return undefined;
    const sent = latest.current;
    return attempt(async () => {
      const raw = writeTerms(lines(rows));
      try {
        const { tag } = await requestTagged("PUT", path, { raw, type: TYPE, ifMatch: saved.tag });
        loaded.set({ text: raw, tag });
        put(latest.current === sent ? null : { ...latest.current, tag }); // text typed meanwhile is kept
        toast(t.glossary.saved(rows.length));
      } catch (error) {
        if (error.status !== STALE) throw error;
        const other = await loaded.reload(); // this also shows the newer glossary
        if (!other || other.tag === saved.tag) throw error;
        if (!isDirty) setTurn(turn + 1);
      }
    });
  };
  return html`<form onSubmit=${(event) => { event.preventDefault(); save(); }}>
    ${isStale && html`<${Stale} text=${saved.text} onSave=${save} onDiscard=${discard} />`}
    <div class="toolbar"><p class="hint grow">${asText ? t.glossary.hint : t.glossary.tableHint}</p>${columns.translation >= 0 && html`<button type="button" class="quiet" onClick=${() => setIsText(!isText)}>${isText ? t.glossary.asTable : t.glossary.asText}</button>`}</div>
    ${asText
      ? html`<label class="block"><span class="unseen">${t.glossary.label}</span><textarea class="text" rows="16" spellcheck="false" dir="auto" readonly=${!mayWrite} value=${now} onInput=${(event) => write(event.target.value)} onKeyDown=${writeTab}></textarea></label>`
      : html`<${TermTable} key=${turn} rows=${rows} columns=${columns} project=${project} mayWrite=${mayWrite} onChange=${(changed) => write(lines(changed).map((row) => row.join("\t")).join("\n"))} />`}
    ${isRefused && bad && html`<p class="warning" role="alert">${asText ? t.glossary.bad(bad) : t.glossary.incomplete(now.split("\n")[bad - 1].trim())}</p>`}
    ${mayWrite && html`<div class="actions"><button class="primary" disabled=${isStale}>${t.glossary.save}</button>
      ${isDirty && !isStale && html`<button type="button" onClick=${discard}>${t.glossary.discard}</button>`}
      ${isDirty && html`<span class="soft">${isKept ? t.glossary.unsaved : t.glossary.notKept}</span>`}</div>`}
    ${leaving.value !== null && html`<${Leaving} isKept=${isKept} />`}</form>`;
}

/** Shown if another person has saved the glossary since editing began here. */
function Stale({ text, onSave, onDiscard }) {
  return html`<section class="conflict" role="alert" aria-label=${t.glossary.stale}><p class="strong">${t.glossary.stale}</p>
    <div class="actions"><button type="button" class="primary" onClick=${onSave}>${t.editor.keepMine}</button>
      <button type="button" onClick=${onDiscard}>${t.editor.takeTheirs}</button></div>
    <details><summary>${t.glossary.theirs}</summary><p class="text" dir="auto">${text}</p></details></section>`;
}

function Leaving({ isKept }) {
  const stay = () => { leaving.value = null; };
  return html`<${Dialog} title=${t.glossary.leaveQuestion} onClose=${stay}><p>${isKept ? t.glossary.leaveKept : t.glossary.leaveLost}</p>
    <div class="actions"><button type="button" class="primary" autofocus onClick=${stay}>${t.glossary.stay}</button>
      <button type="button" onClick=${leave}>${t.glossary.leave}</button></div><//>`;
}

/** In the text, Ctrl+I types a tab; Tab moves to the next control as everywhere, and Alt+Tab is taken. */
function writeTab(event) {
  if (!(event.ctrlKey && event.key === "i")) return;
  event.preventDefault();
  event.currentTarget.setRangeText("\t", event.currentTarget.selectionStart, event.currentTarget.selectionEnd, "end");
  event.currentTarget.dispatchEvent(new Event("input", { bubbles: true }));
}

function TermTable({ rows, columns: { term, translation }, project, mayWrite, onChange }) {
  const [draft, setDraft] = useState(rows.length ? rows : [["", ""]]);
  const [q, setQ] = useState("");
  const [found, setFound] = useState(() => [...draft.keys()]); // a row that is being edited stays, whatever it says
  const [most, setMost] = useState(PAGE);
  const body = useRef(null), adder = useRef(null);
  const [added, setAdded] = useState(0); // how often a row was added
  useLayoutEffect(() => { if (added) body.current.querySelector("input").focus(); }, [added]);
  const change = (changed) => { setDraft(changed); onChange(changed.filter((row) => row[term] || row[translation])); };
  const set = (place, side) => (event) => change(draft.map((row, other) => (other === place ? withCell(row, side, event.target.value) : row)));
  const search = (text, terms = draft) => {
    setQ(text);
    setMost(PAGE);
    setFound(placesOf(terms, text));
  };
  const add = () => {
    const terms = [["", ""], ...draft];
    setDraft(terms);
    search("", terms);
    setAdded(added + 1);
  };
  const remove = (place) => {
    if (place === found.at(-1)) adder.current.focus(); // no other row takes its place
    setFound(found.filter((one) => one !== place).map((one) => (one > place ? one - 1 : one)));
    change(draft.filter((_, other) => other !== place));
  };
  const field = (place, side, name, language) => html`<td><input aria-label=${`${name} ${place + 1}`} ...${inLanguage(language)} readonly=${!mayWrite} value=${draft[place][side] ?? ""} onInput=${set(place, side)} /></td>`;
  return html`<div class="toolbar"><label class="grow"><span class="unseen">${t.glossary.search}</span><input type="search" placeholder=${t.glossary.search} value=${q} onInput=${(event) => search(event.target.value)} onKeyDown=${(event) => event.key === "Enter" && event.preventDefault()} /></label>
      <span class="soft" role="status">${t.audit.entries(found.filter((place) => draft[place].some(Boolean)).length)}</span>
      ${mayWrite && html`<button ref=${adder} type="button" onClick=${add}>${t.glossary.add}</button>`}</div>
    <table class="wide terms-table"><thead><tr><th scope="col" class="label">${t.glossary.term}</th><th scope="col" class="label">${t.glossary.translation}</th><td></td></tr></thead>
      <tbody ref=${body}>${found.slice(0, most).map((place, row) => html`<tr key=${row}>
        ${field(place, term, t.glossary.term, project.source_language)}${field(place, translation, t.glossary.translation, project.target_language)}
        <td>${mayWrite && html`<button type="button" class="quiet" aria-label=${t.glossary.remove(draft[place][term] || String(place + 1))} onClick=${() => remove(place)}>✕</button>`}</td></tr>`)}</tbody></table>
    ${found.length > most && html`<button type="button" onClick=${() => setMost(most + PAGE)}>${t.more}</button>`}`;
}

/** Return the places of the rows that contain a text, in any case. @param {string[][]} rows @param {string} text */
function placesOf(rows, text) {
  const wanted = text.toLowerCase();
  return [...rows.keys()].filter((place) => rows[place].some((cell) => cell.toLowerCase().includes(wanted)));
}
