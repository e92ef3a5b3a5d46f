/** Charts as SVG: lines over days, bars. Their looks are in the style sheet; a table beside them says the same. */
import { html } from "../lib.js";
import { format, t } from "../strings.js";

const WIDTH = 640, HEIGHT = 200, LEFT = 44, RIGHT = 12, TOP = 12, BOTTOM = 28;

/** Return a round number at or above the greatest value. @param {number} most */
function ceiling(most) {
  const unit = 10 ** Math.floor(Math.log10(most || 1));
  return [1, 2, 2.5, 5, 10].map((step) => step * unit).find((value) => value >= most) ?? 1;
}

function frame(top, days, children, label) {
  const y = (value) => HEIGHT - BOTTOM - ((HEIGHT - BOTTOM - TOP) * value) / top;
  const every = Math.ceil(days.length / 8);
  return html`<svg class="chart" viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label=${label}>
    ${[0, 0.5, 1].map((share) => html`<line class="grid" x1=${LEFT} x2=${WIDTH - RIGHT} y1=${y(share * top)} y2=${y(share * top)} />
      <text class="tick" x=${LEFT - 6} y=${y(share * top) + 4} text-anchor="end">${format.number(share * top)}</text>`)}
    ${days.map((day, index) => index % every === 0 && html`<text class="tick" x=${xOf(index, days.length)} y=${HEIGHT - 8} text-anchor="middle">${format.day(day)}</text>`)}
    ${children(y)}</svg>`;
}

const xOf = (index, count) => LEFT + ((WIDTH - LEFT - RIGHT) * (index + 0.5)) / count;

/** @param {{days: string[], values: number[], label: string}} props */
export function Columns({ days, values, label }) {
  const top = ceiling(Math.max(...values, 1));
  const width = Math.min(48, (0.7 * (WIDTH - LEFT - RIGHT)) / days.length);
  return frame(top, days, (y) => values.map((value, index) => html`
    <rect class="column" x=${xOf(index, days.length) - width / 2} y=${y(value)} width=${width} height=${y(0) - y(value)} rx="2"><title>${format.day(days[index])}: ${format.number(value)}</title></rect>`), label);
}

/** @param {{days: string[], lines: {name: string, tone: string, values: (number|null)[]}[], label: string}} props */
export function Lines({ days, lines, label }) {
  const top = ceiling(Math.max(...lines.flatMap((line) => line.values.map((value) => value ?? 0)), 1));
  return html`<ul class="legend">${lines.map((line) => html`<li class=${line.tone}>${line.name}</li>`)}</ul>
    ${frame(top, days, (y) => lines.map((line) => {
    const points = line.values.map((value, index) => (value === null || value === undefined ? null : [xOf(index, days.length), y(value), value])).filter(Boolean);
    return html`<g class=${`line ${line.tone}`}><polyline points=${points.map(([x, height]) => `${x},${height}`).join(" ")} />
      ${points.map(([x, height, value]) => html`<circle cx=${x} cy=${height} r="3.5"><title>${line.name}: ${format.decimal(value)}</title></circle>`)}</g>`;
  }), label)}`;
}

/** What a chart shows, as a table to unfold. @param {{caption: string, head: string[], rows: any[][]}} props */
export function Table({ caption, head, rows, isOpen = false }) {
  return html`<details open=${isOpen}><summary>${t.progress.asTable}</summary><div class="scroll" tabindex="0" role="region" aria-label=${caption}><table>
    <caption>${caption}</caption>
    <thead><tr>${head.map((name, index) => html`<th scope="col" class=${index ? "" : "label"}>${name}</th>`)}</tr></thead>
    <tbody>${rows.map(([name, ...cells]) => html`<tr><th scope="row">${name}</th>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody>
  </table></div></details>`;
}
