/** Hooks for views that follow the events of a project, and for lists that are fetched in pages. */
import { useEffect, useRef, useSignal } from "../lib.js";
import { ApiError } from "../data/api.js";
import { listen } from "../data/live_events.js";
import { attempt } from "../ui/messages.js";

const GATHERED = 500; // milliseconds in which events are handled together
const PAGE = 100; // rows per request
const MOST = 1000; // rows that the service returns at a time, at most

/**
 * Call a function soon after events of a project, made here or elsewhere, and when some may have been missed. Presence
 * and new proposals do not count.
 * @param {string} project @param {() => void} onNews
 */
export function useNews(project, onNews) {
  const latest = useRef(onNews);
  latest.current = onNews;
  useEffect(() => {
    let timer;
    const gather = () => { timer ??= setTimeout(() => { timer = undefined; latest.current(); }, GATHERED); };
    const stop = listen(project, (kind, data) => { if (kind !== "presence" && !data.proposal) gather(); }, gather);
    return () => { stop(); clearTimeout(timer); };
  }, [project]);
}

/**
 * Return the rows of a list, the latest first; null before they are known. Requests are made one after another, so
 * that each continues from the rows of the last one. An error is returned while there are no rows; later ones are messages.
 * @param {(page: {limit: number, before?: number}) => Promise<{rows: any[], next: number | null}>} load
 * @returns {{rows: any[] | null, next: number | null, error: ApiError | null, reload: () => Promise<void>, more: () => Promise<void>}}
 */
export function usePages(load) {
  const shown = useSignal({ rows: null, next: null, error: null });
  const last = useRef(Promise.resolve());
  const inTurn = (work) => {
    const run = () => attempt(async () => {
      try {
        shown.value = { ...(await work(shown.peek())), error: null };
      } catch (error) {
        if (shown.peek().rows || !(error instanceof ApiError)) throw error;
        shown.value = { ...shown.peek(), error };
      }
    });
    return (last.current = last.current.then(run, run));
  };
  const reload = () => inTurn(({ rows }) => load({ limit: Math.min(Math.max(rows?.length ?? 0, PAGE), MOST) }));
  const more = () => inTurn(async ({ rows, next }) => {
    if (next === null) return { rows, next };
    const page = await load({ limit: PAGE, before: next });
    return { rows: [...rows, ...page.rows], next: page.next };
  });
  return { ...shown.value, reload, more };
}
