/** The files of a project: upload, progress of imports, download, deletion. */
import { html, useEffect, useRef, useState } from "../lib.js";
import { get, remove } from "../data/api.js";
import { address } from "../data/router.js";
import { progressOf } from "../data/segment.js";
import { addUploads, forgetUpload, uploads } from "../data/upload_queue.js";
import { Bar, focusHeading, useLoaded, Waiting } from "../ui/controls.js";
import { ConfirmByName } from "../ui/dialog.js";
import { format, t } from "../strings.js";
import { useNews } from "./live_pages.js";
import { listOf } from "./projects_view.js";

const OPEN = ["waiting", "running"]; // states of jobs that are not over
const PAUSE = 1000; // milliseconds between polls of running jobs

/** @param {{project: any, onChange: () => void}} props */
export function FilesView({ project, onChange }) {
  const loaded = useLoaded(() => filesAndJobs(project.id), [project.id]);
  const [doomed, setDoomed] = useState(null);
  const imports = (loaded.value?.jobs ?? []).filter((job) => OPEN.includes(job.state) && job.kind === "import");
  const open = imports.map((job) => job.id).join();
  const notes = Object.fromEntries((loaded.value?.jobs ?? []).filter((job) => job.note).map((job) => [job.file, job.note]));
  const failures = failuresOf(loaded.value?.jobs ?? []);
  const shares = Object.fromEntries(imports.map((job) => [job.file, shareOf(job)]));
  const role = project.role;
  const renew = async () => { await loaded.reload(); onChange(); };
  useNews(project.id, () => loaded.reload());

  useEffect(() => {
    if (!open) return undefined;
    const timer = setInterval(() => { if (document.visibilityState !== "hidden") loaded.reload(); }, PAUSE);
    return () => { clearInterval(timer); onChange(); };
  }, [open]);
  const destroy = async () => {
    await remove(`/v1/files/${doomed.id}`);
    setDoomed(null);
    await renew();
    focusHeading();
  };
  return html`
    ${role !== "reader" && html`<${DropZone} onFiles=${(files) => addUploads(project.id, files, () => loaded.reload())} />`}
    ${uploads.value.filter((one) => one.project === project.id).map((one) => html`<${Upload} key=${one.id} upload=${one} />`)}
    ${!loaded.value ? html`<${Waiting} loaded=${loaded} />`
      : loaded.value.files.length === 0 ? html`<p class="hint">${t.files.empty}</p>`
      : html`<ul class="files">${loaded.value.files.map((file) => html`<${FileCard} key=${file.id} project=${project} file=${file}
          share=${shares[file.id]} note=${notes[file.id]} failure=${failures.get(file.id)} onDelete=${role === "manager" ? () => setDoomed(file) : undefined} />`)}</ul>`}
    ${doomed && html`<${ConfirmByName} title=${t.files.removeQuestion(doomed.name)} text=${t.files.removeText} label=${t.files.removeConfirm}
      name=${doomed.name} action=${t.files.remove} onConfirm=${destroy} onClose=${() => setDoomed(null)} />`}`;
}

async function filesAndJobs(project) {
  const [files, jobs] = await Promise.all([get(`/v1/projects/${project}/files`), get(`/v1/projects/${project}/jobs`)]);
  return { files: listOf(files, "files"), jobs: listOf(jobs, "jobs") };
}

/** Return the failed jobs, by file, unless a later one succeeded. @param {any[]} jobs the latest first */
function failuresOf(jobs) {
  const latest = new Map();
  for (const job of jobs) if (!latest.has(job.file) && job.state !== "cancelled") latest.set(job.file, job);
  return new Map([...latest].filter(([, job]) => job.state === "failed"));
}

const shareOf = (job) => (job.total ? job.done / job.total : 0);

function DropZone({ onFiles }) {
  const [isOver, setOver] = useState(false);
  const input = useRef(null);
  const latest = useRef(onFiles);
  latest.current = onFiles;
  useEffect(() => { // the whole page takes files, as the browser would leave it to show one that misses the zone
    const listening = new AbortController();
    const on = (name, handler) => addEventListener(name, (event) => {
      if (!event.dataTransfer.types.includes("Files")) return;
      event.preventDefault();
      handler(event);
    }, { signal: listening.signal });
    on("dragover", () => setOver(true));
    on("dragleave", (event) => { if (!event.relatedTarget) setOver(false); });
    on("drop", (event) => {
      setOver(false);
      latest.current(Array.from(event.dataTransfer.files));
    });
    return () => listening.abort();
  }, []);
  const choose = (event) => {
    onFiles(Array.from(event.target.files));
    input.current.value = "";
  };
  return html`<div class=${isOver ? "drop over" : "drop"}>
    <input ref=${input} id="upload" class="unseen" type="file" multiple accept=".xlf,.xliff,.mqxliff,.sdlxliff,.mxliff,.txlf,.tmx,.po,.pot" onChange=${choose} />
    <span>${t.files.drop}</span> <label class="button" for="upload">${t.files.choose}</label></div>`;
}

function Upload({ upload: { id, name, share, problem } }) {
  const isNamed = problem?.startsWith(`${name}: `); // the server names the file itself, if it has read it
  const forget = () => { forgetUpload(id); document.getElementById("upload").focus(); };
  if (problem) return html`<div class="warning refusal"><p role="alert">${!isNamed && html`<bdi>${name}</bdi>: `}${problem}</p>
    <button type="button" class="quiet" aria-label=${t.files.forget(name)} onClick=${forget}>✕</button></div>`;
  return html`<div class="upload"><${Work} name=${name} text=${share ? t.files.uploading : t.files.waiting} share=${share} /></div>`;
}

/** Work that goes on; screen readers announce that it does, and not each step, which they find at the bar. */
function Work({ name = "", text, share = 0 }) {
  const step = share ? `, ${format.percent(share)}` : "";
  return html`<p role="status">${name && html`<bdi>${name}</bdi> · `}${text}<span aria-hidden="true">${step}</span></p><${Bar} value=${share} label=${text + step} />`;
}

function FileCard({ project, file, share, note, failure, onDelete }) {
  const isReady = file.state === "ready";
  const name = isReady ? html`<a href=${address("project", project.id, "file", file.id)}><bdi>${file.name}</bdi></a>` : html`<bdi>${file.name}</bdi>`;
  const link = (query, label) => html`<a class="button" href=${`/v1/files/${encodeURIComponent(file.id)}/download${query}`} download aria-label=${`${label}: ${file.name}`}>${label}</a>`;
  return html`<li class="card file">
    <h2>${name}</h2>
    <p class="soft">${[file.format, `${file.source_language || project.source_language} → ${file.target_language || project.target_language}`,
      format.counted(file.segments ?? 0, "segment"), format.counted(file.words ?? 0, "word")].filter(Boolean).join(" · ")}</p>
    ${file.state === "failed" && html`<p class="warning">${t.files.failed}: ${file.error}</p>`}
    ${file.state !== "failed" && failure && html`<p class="warning">${t.files.jobFailed[failure.kind] ?? failure.kind}: ${failure.error}</p>`}
    ${(file.state === "importing" || share !== undefined) && html`<${Work} text=${share ? t.files.preparing : t.files.importing} share=${share} />`}
    ${isReady && html`<${Bar} value=${progressOf(file)} label=${t.files.progress(file)} /><p class="soft small">${t.files.progress(file)}</p>`}
    ${isReady && file.estimate && html`<p class="estimate"><span class="strong">${t.files.estimate}</span> ${t.files.estimateText(file.estimate)}</p>`}
    ${isReady && note && html`<p class="soft">${t.files.noProposals(note)}</p>`}
    <div class="actions">
      ${isReady && html`<a class="button primary" href=${address("project", project.id, "file", file.id)} aria-label=${`${t.files.open}: ${file.name}`}>${t.files.open}</a>${link("", t.files.download)}${link("?all=true", t.files.downloadAll)}`}
      ${onDelete && html`<button type="button" class="quiet" aria-label=${`${t.files.remove}: ${file.name}`} onClick=${onDelete}>${t.files.remove}</button>`}</div>
  </li>`;
}
