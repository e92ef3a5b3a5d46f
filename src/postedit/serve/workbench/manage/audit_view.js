/** The audit log of a project: who did what, and when. */
import { html, useEffect } from "../lib.js";
import { get, withQuery } from "../data/api.js";
import { Time, Waiting } from "../ui/controls.js";
import { t } from "../strings.js";
import { useNews, usePages } from "./live_pages.js";
import { listOf } from "./projects_view.js";

/** @param {{project: any}} props */
export function AuditView({ project }) {
  const pages = usePages(async (page) => {
    const answer = await get(withQuery(`/v1/projects/${project.id}/audit`, page));
    return { rows: listOf(answer, "audit"), next: answer.next };
  });
  useEffect(() => { pages.reload(); }, []);
  useNews(project.id, pages.reload);
  if (!pages.rows) return html`<${Waiting} loaded=${pages} />`;
  if (!pages.rows.length) return html`<p class="hint">${t.audit.empty}</p>`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${t.audit.title}><table class="wide audit">
    <thead><tr><th scope="col" class="label">${t.audit.time}</th><th scope="col" class="label">${t.audit.who}</th><th scope="col" class="label">${t.audit.what}</th><th scope="col" class="label">${t.audit.detail}</th></tr></thead>
    <tbody>${pages.rows.map((row, index) => html`<tr key=${row.id ?? index}><td class="label"><${Time} value=${row.made} /></td>
      <td class="label"><bdi>${row.who}</bdi></td><td class="label">${whatOf(row)}</td><td class="label detail" dir="auto">${detailOf(row)}</td></tr>`)}</tbody></table></div>
    ${pages.next !== null && html`<button type="button" onClick=${pages.more}>${t.more}</button>`}`;
}

function whatOf(row) {
  const words = t.audit[row.kind];
  return typeof words === "function" ? words(row) : words?.[row.action] ?? row.kind;
}

/** Return the details of an entry, besides who, when and what. */
function detailOf({ target, entries, settings, error, name }) {
  if (settings) return Object.entries(settings).map(([key, value]) => t.audit.setting(key, value)).join(", ");
  return entries === undefined ? target ?? error ?? name ?? "" : t.audit.entries(entries);
}
