/** What a project learnt, from whom, and the way to undo it. */
import { html, useEffect, useRef, useState } from "../lib.js";
import { get, post, request, withQuery } from "../data/api.js";
import { Time } from "../ui/controls.js";
import { difference } from "../ui/difference.js";
import { attempt, toast } from "../ui/messages.js";
import { t } from "../strings.js";

const PAGE = 50;

/** @param {{project: any}} props */
export function LearntView({ project }) {
  const path = `/v1/projects/${project.id}/corrections`;
  const role = project.role;
  const [q, setQ] = useState("");
  const [state, setState] = useState({ rows: null, next: null });
  const timer = useRef(null);
  const latest = useRef(0);
  const load = (text, before) => attempt(async () => {
    const turn = ++latest.current;
    const page = await get(withQuery(path, { limit: PAGE, q: text, before }));
    if (turn === latest.current) setState((old) => ({ rows: before ? [...old.rows, ...page.corrections] : page.corrections, next: page.next ?? null }));
  });
  useEffect(() => { load("", undefined); }, [project.id]);
  const search = (event) => {
    const text = event.target.value;
    setQ(text);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => load(text), 300);
  };
  const undo = (number) => attempt(async () => {
    await post(`${path}/${number}/undo`);
    setState((old) => ({ ...old, rows: old.rows.map((row) => (row.number === number ? { ...row, undone: true } : row)) }));
  });
  const add = (event) => attempt(async () => {
    const [file] = event.target.files;
    const type = file.name.endsWith(".tsv") ? "text/tab-separated-values; charset=utf-8" : "application/jsonl; charset=utf-8";
    await request("POST", `${path}/import`, { text: await file.text(), type });
    toast(t.learnt.imported);
    await load(q);
  });
  return html`
    <p class="hint">${t.learnt.hint}</p>
    <div class="toolbar"><label class="grow"><span class="unseen">${t.learnt.search}</span><input type="search" placeholder=${t.learnt.search} value=${q} onInput=${search} /></label>
      ${role === "manager" && html`<input id="import" class="unseen" type="file" accept=".tsv,.jsonl" onChange=${add} /><label class="button" for="import">${t.learnt.import}</label>`}
      <a class="button" href=${`${path}/export`} download>${t.learnt.export}</a></div>
    ${state.rows && (state.rows.length === 0 ? html`<p class="hint">${t.learnt.empty}</p>`
      : html`<ol class="corrections">${state.rows.map((row) => html`<${Correction} key=${row.number} row=${row} project=${project} onUndo=${role === "reader" ? undefined : () => undo(row.number)} />`)}</ol>`)}
    ${state.next !== null && html`<button type="button" onClick=${() => load(q, state.next)}>${t.more}</button>`}`;
}

function Correction({ row, project, onUndo }) {
  const mt = row.mt ?? "";
  return html`<li class=${row.undone ? "card undone" : "card"}>
    <p class="soft" lang=${project.source_language} dir="auto">${row.src}</p>
    <p class="text" lang=${project.target_language} dir="auto">${difference(mt, row.pe)}</p>
    <p class="soft foot"><span>${mt === row.pe && `${t.learnt.kept} · `}${t.learnt.by} <bdi>${row.author || "–"}</bdi></span> <${Time} value=${row.made} /> <span><bdi>${row.file}</bdi> ${row.unit && html`<bdi>${row.unit}</bdi>`}</span>
      <span class="grow"></span>
      ${row.undone ? html`<span class="badge">${t.learnt.undone}</span>` : onUndo && html`<button type="button" class="quiet" aria-label=${t.learnt.undoName(row.number)} onClick=${onUndo}>${t.learnt.undo}</button>`}</p>
  </li>`;
}
