/** The corrections that a project has learnt, with authors; they can be undone, imported and exported. */
import { html, useEffect, useState } from "../lib.js";
import { get, post, request, withQuery } from "../data/api.js";
import { inLanguage, Time, Waiting } from "../ui/controls.js";
import { difference } from "../ui/difference.js";
import { attempt, toast } from "../ui/messages.js";
import { t } from "../strings.js";
import { useNews, usePages } from "./live_pages.js";

const PAUSE = 300; // milliseconds after the last key press, before the search starts

/** @param {{project: any}} props */
export function LearntView({ project }) {
  const path = `/v1/projects/${project.id}/corrections`;
  const role = project.role;
  const [q, setQ] = useState("");
  const pages = usePages(async (page) => {
    const { corrections, next } = await get(withQuery(path, { ...page, q }));
    return { rows: corrections, next };
  });
  useEffect(() => {
    const timer = setTimeout(pages.reload, q ? PAUSE : 0);
    return () => clearTimeout(timer);
  }, [q]);
  useNews(project.id, pages.reload);
  const undo = (number, card) => attempt(async () => {
    card.focus(); // since the button will be gone
    await post(`${path}/${number}/undo`);
    toast(t.learnt.undoneNow(number));
    await pages.reload();
  });
  const add = (event) => attempt(async () => {
    const input = event.target, [file] = input.files;
    if (!file) return; // the file dialog was cancelled
    const type = file.name.endsWith(".tsv") ? "text/tab-separated-values; charset=utf-8" : "application/jsonl; charset=utf-8";
    try {
      const { added, known } = await request("POST", `${path}/import`, { raw: file, type }); // as bytes: the service reports text that is not UTF-8
      toast(t.learnt.imported(added, known));
    } finally {
      input.value = ""; // so that the same file can be chosen again
    }
    await pages.reload();
  });
  return html`
    <p class="hint">${t.learnt.hint}</p>
    <div class="toolbar"><label class="grow"><span class="unseen">${t.learnt.search}</span><input type="search" placeholder=${t.learnt.search} value=${q} onInput=${(event) => setQ(event.target.value)} /></label>
      ${role === "manager" && html`<input id="import" class="unseen" type="file" accept=".tsv,.jsonl" onChange=${add} /><label class="button" for="import">${t.learnt.import}</label>`}
      <a class="button" href=${`${path}/export`} download>${t.learnt.export}</a></div>
    ${!pages.rows ? html`<${Waiting} loaded=${pages} />`
      : pages.rows.length === 0 ? html`<p class="hint">${q ? t.learnt.notFound : t.learnt.empty}</p>`
      : html`<ol class="corrections">${pages.rows.map((row) => html`<${Correction} key=${row.number} row=${row} project=${project} onUndo=${role === "reader" ? undefined : (card) => undo(row.number, card)} />`)}</ol>`}
    ${pages.next !== null && html`<button type="button" onClick=${pages.more}>${t.more}</button>`}`;
}

function Correction({ row, project, onUndo }) {
  const mt = row.mt ?? "";
  return html`<li class=${row.undone ? "card undone" : "card"} tabindex="-1">
    <p class="soft" ...${inLanguage(project.source_language)}>${row.src}</p>
    <p class="text" ...${inLanguage(project.target_language)}>${difference(mt, row.pe)}</p>
    <p class="soft foot"><span>${t.learnt.correction(row.number)}</span> <span>${mt === row.pe && `${t.learnt.kept} · `}${t.learnt.by} <bdi>${row.author || "–"}</bdi></span> <${Time} value=${row.made} /> <span><bdi>${row.file}</bdi> ${row.unit && html`<bdi>${row.unit}</bdi>`}</span>
      <span class="grow"></span>
      ${row.undone ? html`<span class="badge">${t.learnt.undone}</span>` : onUndo && html`<button type="button" class="quiet" aria-label=${t.learnt.undoName(row.number)} onClick=${(event) => onUndo(event.currentTarget.closest("li"))}>${t.learnt.undo}</button>`}</p>
  </li>`;
}
