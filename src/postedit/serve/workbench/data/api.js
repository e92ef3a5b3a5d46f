/** Requests to the service that served this page. */
import { signal } from "../lib.js";

/** Token against forged requests, sent with requests that change something. */
export const csrf = signal("");

/** A request failed; `status` is 0 if there was no response. */
export class ApiError extends Error {
  /** @param {number} status @param {string} message @param {any} body */
  constructor(status, message, body = null) {
    super(message);
    this.status = status;
    this.body = body;
  }

  /** Whether the same request may succeed later. */
  get isPassing() { return this.status === 0 || this.status === 429 || this.status >= 500; }
}

const listeners = new Set();

/** Call a function when a request was refused because nobody is signed in. @param {() => void} listener */
export const onSignedOut = (listener) => listeners.add(listener);

let renewing; // promise while a token is fetched; requests refused at the same time wait for the same one
let renewSession = async () => false;

/** Set the function that renews a refused token; it resolves to whether the person is the same. @param {() => Promise<boolean>} renew */
export const onStaleToken = (renew) => { renewSession = renew; };

/** Make a request; repeat it once if its token was refused. @template Answer @param {() => Promise<Answer>} send */
async function withToken(send) {
  try {
    return await send();
  } catch (error) {
    if (error.status !== 403 || error.body?.error?.code !== "csrf") throw error;
    renewing ??= renewSession().finally(() => { renewing = undefined; });
    if (await renewing) return send();
    throw new ApiError(401, error.message, error.body); // now another person or nobody is signed in
  }
}

/**
 * Make a request.
 * @param {string} method @param {string} path
 * @param {{body?: any, raw?: string | Blob, type?: string, ifMatch?: string, signal?: AbortSignal, keepalive?: boolean}} options `body` is sent as JSON or as a form;
 *   `raw`: sent unchanged, as text or bytes; `ifMatch`: tag of the state to be replaced; `keepalive`: goes on if the page is closed
 * @returns {Promise<any>} the JSON, or the text, of the answer
 */
export const request = async (method, path, options = {}) => (await requestTagged(method, path, options)).body;

/** Make a request, as `request` does. @returns {Promise<{body: any, tag: string}>} `tag`: of the state read or saved */
export const requestTagged = (method, path, options = {}) => withToken(() => requestOnce(method, path, options));

async function requestOnce(method, path, { body, raw, type, ifMatch, signal: abort, keepalive = false }) {
  const headers = { Accept: "application/json, text/*" };
  if (method !== "GET" && csrf.value) headers["X-CSRF-Token"] = csrf.value;
  if (ifMatch) headers["If-Match"] = ifMatch;
  let content = raw;
  if (raw !== undefined) headers["Content-Type"] = type ?? "text/plain; charset=utf-8";
  else if (body instanceof FormData) content = body;
  else if (body !== undefined) {
    headers["Content-Type"] = "application/json";
    content = JSON.stringify(body);
  }
  let response;
  try {
    response = await fetch(path, { method, headers, body: content, signal: abort, keepalive, credentials: "same-origin" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "No connection to the service.");
  }
  return answerOf(response);
}

/** Return a tag as the service gave it, without the suffix that a compressing proxy may append. @param {string} tag */
export const plainTag = (tag) => tag.replace(/^W\//, "").replace(/-[a-z]+"$/, '"');

async function answerOf(response) {
  const isEmpty = response.status === 204; // even if its Content-Type is JSON
  const isJson = !isEmpty && (response.headers.get("Content-Type") ?? "").includes("json");
  let body;
  try {
    body = isJson ? await response.json() : await response.text();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "The answer of the service was cut off.");
  }
  if (response.ok) return { body, tag: plainTag(response.headers.get("ETag") ?? "") };
  if (response.status === 401) listeners.forEach((listener) => listener());
  throw new ApiError(response.status, body?.error?.message ?? `The service answered ${response.status}.`, body);
}

export const get = (path, options) => request("GET", path, options);
export const post = (path, body = {}) => request("POST", path, { body });
export const put = (path, body) => request("PUT", path, { body });
export const patch = (path, body) => request("PATCH", path, { body });
export const remove = (path) => request("DELETE", path);

/** Return a path with query parameters; empty ones are left out. @param {string} path @param {Record<string, any>} values */
export function withQuery(path, values) {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return entries.length ? `${path}?${new URLSearchParams(entries.map(([name, value]) => [name, String(value)]))}` : path;
}

/**
 * Upload a file and report progress, which `fetch` cannot do.
 * @param {string} path @param {File} file @param {(share: number) => void} onProgress
 * @returns {Promise<any>}
 */
export const upload = (path, file, onProgress) => withToken(() => uploadOnce(path, file, onProgress));

function uploadOnce(path, file, onProgress) {
  const form = new FormData();
  form.append("file", file, file.name);
  return new Promise((resolve, reject) => {
    const sent = new XMLHttpRequest();
    sent.open("POST", path);
    sent.responseType = "json";
    if (csrf.value) sent.setRequestHeader("X-CSRF-Token", csrf.value);
    sent.upload.addEventListener("progress", (event) => onProgress(event.total ? event.loaded / event.total : 0));
    sent.addEventListener("error", () => reject(new ApiError(0, "No connection to the service.")));
    sent.addEventListener("load", () => {
      if (sent.status >= 200 && sent.status < 300) return resolve(sent.response);
      if (sent.status === 401) listeners.forEach((listener) => listener());
      return reject(new ApiError(sent.status, sent.response?.error?.message ?? `The service answered ${sent.status}.`, sent.response));
    });
    sent.send(form);
  });
}
