/** What happened in a project: who did what, and when. */
import { html, useEffect, useState } from "../lib.js";
import { get, withQuery } from "../data/api.js";
import { Time } from "../ui/controls.js";
import { attempt } from "../ui/messages.js";
import { t } from "../strings.js";
import { listOf } from "./projects_view.js";

/** @param {{project: any}} props */
export function AuditView({ project }) {
  const [state, setState] = useState({ rows: null, next: null });
  const load = (before) => attempt(async () => {
    const page = await get(withQuery(`/v1/projects/${project.id}/audit`, { limit: 100, before }));
    const rows = listOf(page, "audit");
    setState((old) => ({ rows: before ? [...old.rows, ...rows] : rows, next: page.next ?? null }));
  });
  useEffect(() => { load(undefined); }, [project.id]);
  if (!state.rows) return html`<p class="hint" role="status">${t.loading}</p>`;
  if (!state.rows.length) return html`<p class="hint">${t.audit.empty}</p>`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${t.audit.title}><table class="wide audit">
    <thead><tr><th scope="col" class="label">${t.audit.time}</th><th scope="col" class="label">${t.audit.who}</th><th scope="col" class="label">${t.audit.what}</th><th scope="col" class="label">${t.audit.detail}</th></tr></thead>
    <tbody>${state.rows.map((row, index) => html`<tr key=${row.id ?? index}><td class="label"><${Time} value=${row.made} /></td>
      <td class="label"><bdi>${row.who}</bdi></td><td class="label">${row.kind === "decision" ? t.audit.decision(row) : `${row.kind} ${row.action ?? ""}`}</td><td class="label detail" dir="auto">${detail(row)}</td></tr>`)}</tbody></table></div>
    ${state.next !== null && html`<button type="button" onClick=${() => load(state.next)}>${t.more}</button>`}`;
}

/** What an entry says besides who, when and what. */
function detail({ id, kind, who, made, action, ...rest }) {
  if (kind === "decision") return rest.target;
  return Object.entries(rest).map(([name, one]) => `${name}: ${typeof one === "object" ? JSON.stringify(one) : one}`).join(", ");
}
