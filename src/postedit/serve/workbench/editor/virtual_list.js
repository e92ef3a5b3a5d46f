/** A list of any length, of which only the rows on screen (and some more) are elements. */
import { html, useEffect, useLayoutEffect, useRef, useState } from "../lib.js";

const SPARE = 6; // rows rendered above and below the screen
const TALLEST = 8_000_000; // pixels; browsers limit the height of elements

/**
 * @param {{count: number, rowHeight: number, selected: number, label: string, keyOf: (row: number) => any,
 *   row: (row: number) => any, onSelect: (row: number) => void, onClick: (row: number) => void, onEnter: () => void, onVisible: (first: number, last: number) => void,
 *   id: string}} props
 */
export function VirtualList({ count, rowHeight, selected, label, keyOf, row, onSelect, onClick, onEnter, onVisible, id }) {
  const ref = useRef(null);
  const [scroll, setScroll] = useState(0);
  const [height, setHeight] = useState(600);
  const total = Math.min(count * rowHeight, TALLEST);
  const hidden = Math.max(1, total - height); // pixels that can be scrolled
  const share = total < count * rowHeight ? (count * rowHeight - height) / hidden : 1; // more than 1 in very long lists
  const top = scroll * share;
  const first = Math.max(0, Math.floor(top / rowHeight) - SPARE);
  const last = Math.min(count, Math.ceil((top + height) / rowHeight) + SPARE);

  useLayoutEffect(() => {
    const observer = new ResizeObserver(([entry]) => {
      setHeight(entry.contentRect.height);
      setScroll(entry.target.scrollTop); // a list that is shown again is where it was, without an event
    });
    observer.observe(ref.current);
    return () => observer.disconnect();
  }, []);

  useEffect(() => {
    const timer = setTimeout(() => onVisible(first, last), 40); // not for rows that are scrolled past quickly
    return () => clearTimeout(timer);
  }, [first, last, onVisible]);

  const former = useRef({});
  useLayoutEffect(() => {
    const before = former.current;
    former.current = { selected, rowHeight, height };
    if (selected < 0) return;
    const from = selected * rowHeight, now = ref.current.scrollTop * share;
    const isIn = (screen) => from >= now && from + rowHeight <= now + screen;
    const isSame = selected === before.selected && rowHeight === before.rowHeight && before.height > 0;
    if (isIn(height) || (isSame && !isIn(before.height))) return; // only the height has changed, and somebody had scrolled away
    const isNear = Math.abs(from - now) < 2 * height;
    const goal = isNear ? (from < now ? from - rowHeight : from + 2 * rowHeight - height) : from - height / 3;
    ref.current.scrollTop = Math.max(0, goal) / share;
    setScroll(ref.current.scrollTop);
  }, [selected, rowHeight, height]);

  const onKeyDown = (event) => {
    if (!count || event.altKey || event.ctrlKey || event.metaKey) return;
    const page = Math.max(1, Math.floor(height / rowHeight) - 1);
    const goal = { ArrowDown: selected + 1, ArrowUp: selected - 1, PageDown: selected + page, PageUp: selected - page, Home: 0, End: count - 1 }[event.key];
    if (event.key === "Enter") onEnter();
    else if (goal !== undefined) onSelect(Math.max(0, Math.min(count - 1, goal)));
    else return;
    event.preventDefault();
  };

  const rows = [];
  for (let at = first; at < last; at++) rows.push(at);
  return html`
    <div ref=${ref} id=${id} class="rows" role="listbox" aria-label=${label} tabindex="0" onKeyDown=${onKeyDown}
      aria-activedescendant=${selected >= first && selected < last ? `${id}-${selected}` : undefined}
      onScroll=${(event) => setScroll(event.currentTarget.scrollTop)}>
      <div class="rows-space" role="presentation" style=${{ height: `${total}px` }}>
        ${rows.map((at) => html`
          <div key=${keyOf(at)} id=${`${id}-${at}`} class="row" role="option" aria-selected=${at === selected ? "true" : "false"}
            aria-posinset=${at + 1} aria-setsize=${count} onClick=${() => onClick(at)}
            style=${{ height: `${rowHeight}px`, transform: `translateY(${at * rowHeight - top + scroll}px)` }}>${row(at)}</div>`)}
      </div>
    </div>`;
}
