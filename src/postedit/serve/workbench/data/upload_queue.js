/** Uploads of files, two at a time, so that connections are left for other requests. */
import { signal } from "../lib.js";
import { upload } from "./api.js";

const AT_ONCE = 2;

/** @typedef {{id: number, project: string, name: string, share: number, problem?: string}} Upload */

/** Uploads that are in progress, wait, or were refused. @type {import("../lib.js").Signal<Upload[]>} */
export const uploads = signal([]);

addEventListener("beforeunload", (event) => { if (uploads.value.some((one) => !one.problem)) event.preventDefault(); });

const waiting = [];
let sending = 0, count = 0;

/** Upload files, also while the view changes. @param {string} project @param {File[]} files @param {() => void} onDone after each file */
export function addUploads(project, files, onDone) {
  for (const file of files) {
    const id = ++count;
    const isOther = (one) => one.project !== project || one.name !== file.name || !one.problem; // a new try replaces a refusal
    uploads.value = [...uploads.value.filter(isOther), { id, project, name: file.name, share: 0 }];
    waiting.push({ id, project, file, onDone });
  }
  next();
}

/** Forget an upload that is over. @param {number} id */
export const forgetUpload = (id) => { uploads.value = uploads.value.filter((one) => one.id !== id); };

function change(id, values) {
  uploads.value = uploads.value.map((one) => (one.id === id ? { ...one, ...values } : one));
}

function next() {
  while (sending < AT_ONCE && waiting.length) send(waiting.shift());
}

async function send({ id, project, file, onDone }) {
  sending++;
  try {
    await upload(`/v1/projects/${project}/files`, file, (share) => change(id, { share }));
    forgetUpload(id);
  } catch (error) {
    change(id, { problem: error.message });
  }
  sending--;
  next();
  onDone();
}
