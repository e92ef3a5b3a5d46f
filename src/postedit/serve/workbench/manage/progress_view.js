/** The progress of a project: confirmed segments, effort compared with unedited MT, edits by kind, people. */
import { html } from "../lib.js";
import { get } from "../data/api.js";
import { Bar, useLoaded, Waiting } from "../ui/controls.js";
import { format, t } from "../strings.js";
import { progressOf } from "../data/segment.js";
import { Columns, Lines, Table } from "./charts.js";
import { useNews } from "./live_pages.js";

/** @param {{project: any, onChange: () => void}} props */
export function ProgressView({ project, onChange }) {
  const loaded = useLoaded(() => get(`/v1/projects/${project.id}/progress`), [project.id]);
  useNews(project.id, () => { loaded.reload(); onChange(); });
  if (!loaded.value) return html`<${Waiting} loaded=${loaded} />`;
  const { days = [], kinds = [], people = [] } = loaded.value;
  const share = progressOf(project);
  return html`
    <section class="card"><div class="figures">
      <${Figure} value=${format.share(share)} name=${t.progress.done} />
      <${Figure} value=${format.number(project.confirmed ?? 0)} name=${t.progress.confirmed(project.confirmed ?? 0)} />
      <${Figure} value=${format.number(sum(days, "words"))} name=${t.progress.words} /></div>
      <${Bar} value=${share} label=${t.projects.progress(project)} /></section>
    ${days.length === 0 ? html`<p class="hint">${t.progress.empty}</p>` : html`<div class="charts">
      <${PerDay} days=${days} /><${Effort} days=${days} /><${Kinds} kinds=${kinds} /><${Seconds} days=${days} /></div>
      <${People} people=${people} />`}`;
}

const sum = (rows, name) => rows.reduce((total, row) => total + (row[name] ?? 0), 0);
const shown = (value, write) => (value === null || value === undefined ? "–" : write(value));

const Figure = ({ value, name }) => html`<p class="figure"><span class="value">${value}</span> <span class="soft">${name}</span></p>`;

function PerDay({ days }) {
  return html`<section class="card"><h2>${t.progress.perDay}</h2>
    <${Columns} days=${days.map((one) => one.day)} values=${days.map((one) => one.segments)} label=${t.progress.perDay} />
    <${Table} caption=${t.progress.perDay} head=${[t.progress.day, t.progress.segments, t.progress.words]}
      rows=${days.map((one) => [format.day(one.day), format.number(one.segments), format.number(one.words)])} /></section>`;
}

function Effort({ days }) {
  const lines = [
    { name: t.progress.mt, tone: "mt", values: days.map((one) => one.ter_mt) },
    { name: t.progress.proposal, tone: "proposal", values: days.map((one) => one.ter_proposal) },
  ];
  return html`<section class="card"><h2>${t.progress.ter}</h2>
    <${Lines} days=${days.map((one) => one.day)} lines=${lines} label=${t.progress.ter} /><p class="hint">${t.progress.terHint}</p>
    <${Table} caption=${t.progress.ter} head=${[t.progress.day, t.progress.mt, t.progress.proposal]}
      rows=${days.map((one) => [format.day(one.day), shown(one.ter_mt, format.decimal), shown(one.ter_proposal, format.decimal)])} /></section>`;
}

function Kinds({ kinds }) {
  if (!kinds.length) return null;
  return html`<section class="card"><h2>${t.progress.kinds}</h2><dl class="kinds">${kinds.map(({ kind, accepted, rejected }) => {
    const all = accepted + rejected;
    const text = `${format.number(accepted)} / ${format.number(all)}`;
    return html`<div><dt>${t.progress.kindNames[kind] ?? kind}</dt><dd><${Bar} tone="good" value=${all ? accepted / all : 0} label=${`${t.progress.accepted}: ${text}`} /><span class="soft">${text}</span></dd></div>`;
  })}</dl></section>`;
}

function Seconds({ days }) {
  const timed = days.filter((one) => one.seconds);
  if (!timed.length) return null;
  const each = timed.map((one) => one.seconds / Math.max(1, one.timed));
  return html`<section class="card"><h2>${t.progress.seconds}</h2>
    <${Lines} days=${timed.map((one) => one.day)} lines=${[{ name: t.progress.seconds, tone: "proposal", values: each }]} label=${t.progress.seconds} /><p class="hint">${t.progress.secondsHint}</p>
    <${Table} caption=${t.progress.seconds} head=${[t.progress.day, t.progress.seconds]} rows=${timed.map((one, index) => [format.day(one.day), format.decimal(each[index])])} /></section>`;
}

function People({ people }) {
  if (!people.length) return null;
  return html`<section class="card"><h2>${t.progress.people}</h2><div class="scroll" tabindex="0" role="region" aria-label=${t.progress.people}><table>
    <thead><tr><th scope="col" class="label">${t.progress.person}</th><th scope="col">${t.progress.segments}</th><th scope="col">${t.progress.words}</th><th scope="col">${t.progress.seconds}</th></tr></thead>
    <tbody>${people.map((one) => html`<tr><th scope="row"><bdi>${one.name ?? one.person ?? one.user}</bdi></th><td>${shown(one.segments, format.number)}</td><td>${shown(one.words, format.number)}</td>
      <td>${shown(one.seconds ? one.seconds / Math.max(1, one.timed) : null, format.decimal)}</td></tr>`)}</tbody></table></div></section>`;
}
