/** Events of a project as they happen: what others change, where they are, how jobs get on. */
import { get, withQuery } from "./api.js";

const FUTURE = 10 ** 12; // the number of an event that has not happened: to be told the number of the last one
const KINDS = ["segment", "file", "job", "correction", "presence"];

/**
 * Listen to a project until the returned function is called. The browser connects again by itself and says what it had.
 * @param {string} project @param {(kind: string, data: any) => void} onEvent @param {() => void} onOpen also after a break
 */
export function listen(project, onEvent, onOpen = () => {}) {
  let source, timer, last = null, isOver = false;
  const later = () => { if (!isOver) timer = setTimeout(connect, 3000); };
  const connect = async () => {
    try {
      last ??= (await get(withQuery(`/v1/projects/${project}/events.json`, { after: FUTURE, limit: 1 }))).last;
    } catch {
      return later(); // there is no connection, or nobody is signed in
    }
    if (isOver) return undefined;
    source = new EventSource(withQuery(`/v1/projects/${project}/events`, { after: last }));
    source.addEventListener("open", onOpen);
    source.addEventListener("error", () => {
      if (source.readyState === EventSource.CLOSED) later(); // else it tries again by itself
    });
    for (const kind of KINDS) source.addEventListener(kind, (event) => {
      if (event.lastEventId) last = event.lastEventId;
      onEvent(kind, JSON.parse(event.data));
    });
    return undefined;
  };
  connect();
  return () => {
    isOver = true;
    clearTimeout(timer);
    source?.close();
  };
}

/**
 * Follow a job until it ends.
 * @param {string} job @param {(job: any) => void} onChange
 */
export function followJob(job, onChange) {
  const source = new EventSource(`/v1/jobs/${job}/events`);
  const take = (event) => {
    const state = JSON.parse(event.data);
    onChange(state);
    if (["done", "failed", "cancelled"].includes(state.state)) source.close();
  };
  source.addEventListener("job", take);
  return () => source.close();
}
