/** Charts as SVG: lines over days, and bars. They are styled in the style sheet; tables have the same figures. */
import { html, useEffect, useRef, useState } from "../lib.js";
import { format, t } from "../strings.js";

const HEIGHT = 200, LEFT = 44, RIGHT = 24, TOP = 12, BOTTOM = 28; // pixels
const DAY = 64; // pixels for the name of a day

/** Return a round number, not below the largest value, whose half is round, too. @param {number} most */
function ceiling(most) {
  const unit = 10 ** Math.floor(Math.log10(most || 1));
  return [1, 2, 4, 6, 10].map((step) => step * unit).find((value) => value >= most) ?? 1;
}

/**
 * A chart as wide as its container, so that its text has the usual size on every screen.
 * @param {{top: number, days: string[], label: string, children: (scale: {x: (row: number) => number, y: (value: number) => number, step: number}) => any}} props
 */
function Chart({ top, days, label, children: draw }) {
  const place = useRef(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(entry.contentRect.width));
    observer.observe(place.current);
    return () => observer.disconnect();
  }, []);
  const step = (width - LEFT - RIGHT) / days.length;
  const x = (row) => LEFT + step * (row + 0.5);
  const y = (value) => HEIGHT - BOTTOM - ((HEIGHT - BOTTOM - TOP) * value) / top;
  const every = Math.ceil(DAY / Math.max(step, 1));
  return html`<div class="chart" ref=${place}>${width > 0 && html`<svg viewBox=${`0 0 ${width} ${HEIGHT}`} role="img" aria-label=${label}>
    ${[0, 0.5, 1].map((share) => html`<line class="grid" x1=${LEFT} x2=${width - RIGHT} y1=${y(share * top)} y2=${y(share * top)} />
      <text class="tick" x=${LEFT - 6} y=${y(share * top) + 4} text-anchor="end">${format.number(share * top)}</text>`)}
    ${days.map((day, row) => row % every === 0 && html`<text class="tick" x=${x(row)} y=${HEIGHT - 8} text-anchor="middle">${format.day(day)}</text>`)}
    ${draw({ x, y, step })}</svg>`}</div>`;
}

/** @param {{days: string[], values: number[], label: string}} props */
export function Columns({ days, values, label }) {
  return html`<${Chart} top=${ceiling(Math.max(...values, 2))} days=${days} label=${label}>${({ x, y, step }) => {
    const width = Math.min(48, 0.7 * step);
    return values.map((value, row) => html`
      <rect class="column" x=${x(row) - width / 2} y=${y(value)} width=${width} height=${y(0) - y(value)} rx=${Math.min(2, width / 4)}><title>${format.day(days[row])}: ${format.number(value)}</title></rect>`);
  }}</${Chart}>`;
}

/** @param {{days: string[], lines: {name: string, tone: string, values: (number|null)[]}[], label: string}} props */
export function Lines({ days, lines, label }) {
  const top = ceiling(Math.max(...lines.flatMap((line) => line.values.map((value) => value ?? 0)), 1));
  return html`<ul class="legend">${lines.map((line) => html`<li class=${line.tone}>${line.name}</li>`)}</ul>
    <${Chart} top=${top} days=${days} label=${label}>${({ x, y, step }) => lines.map((line) => {
    const points = line.values.map((value, row) => (value === null || value === undefined ? null : [x(row), y(value), value])).filter(Boolean);
    return html`<g class=${`line ${line.tone}`}><polyline points=${points.map(([across, down]) => `${across},${down}`).join(" ")} />
      ${points.map(([across, down, value]) => html`<circle cx=${across} cy=${down} r=${Math.min(3.5, step / 4)}><title>${line.name}: ${format.decimal(value)}</title></circle>`)}</g>`;
  })}</${Chart}>`;
}

/** The figures of a chart, as a table to unfold. @param {{caption: string, head: string[], rows: any[][]}} props */
export function Table({ caption, head, rows, isOpen = false }) {
  return html`<details open=${isOpen}><summary>${t.progress.asTable}</summary><div class="scroll" tabindex="0" role="region" aria-label=${caption}><table>
    <caption>${caption}</caption>
    <thead><tr>${head.map((name, index) => html`<th scope="col" class=${index ? "" : "label"}>${name}</th>`)}</tr></thead>
    <tbody>${rows.map(([name, ...cells]) => html`<tr><th scope="row">${name}</th>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody>
  </table></div></details>`;
}
