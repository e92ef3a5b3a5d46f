/** What happened in a project: who did what, and when. */
import { html, useEffect, useState } from "../lib.js";
import { get, withQuery } from "../data/api.js";
import { Time } from "../ui/controls.js";
import { attempt } from "../ui/messages.js";
import { t } from "../strings.js";

/** @param {{project: any}} props */
export function AuditView({ project }) {
  const [state, setState] = useState({ rows: null, next: null });
  const load = (before) => attempt(async () => {
    const page = await get(withQuery(`/v1/projects/${project.id}/audit`, { limit: 100, before }));
    const rows = page.entries ?? page.audit ?? page.data ?? [];
    setState((old) => ({ rows: before ? [...old.rows, ...rows] : rows, next: page.next ?? null }));
  });
  useEffect(() => { load(undefined); }, [project.id]);
  if (!state.rows) return html`<p class="hint" role="status">${t.loading}</p>`;
  if (!state.rows.length) return html`<p class="hint">${t.audit.empty}</p>`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${t.audit.title}><table class="wide audit">
    <thead><tr><th scope="col" class="label">${t.audit.time}</th><th scope="col" class="label">${t.audit.who}</th><th scope="col" class="label">${t.audit.what}</th><th scope="col" class="label">${t.audit.detail}</th></tr></thead>
    <tbody>${state.rows.map((row, index) => html`<tr key=${row.number ?? index}><td class="label"><${Time} value=${row.time ?? row.made ?? row.at} /></td>
      <td class="label"><bdi>${row.who ?? row.user ?? row.author}</bdi></td><td class="label">${row.what ?? row.action}</td><td class="label detail">${detail(row)}</td></tr>`)}</tbody></table></div>
    ${state.next !== null && html`<button type="button" onClick=${() => load(state.next)}>${t.more}</button>`}`;
}

function detail(row) {
  const value = row.detail ?? row.details ?? "";
  if (typeof value === "string") return value;
  return Object.entries(value).map(([name, one]) => `${name}: ${typeof one === "object" ? JSON.stringify(one) : one}`).join(", ");
}
