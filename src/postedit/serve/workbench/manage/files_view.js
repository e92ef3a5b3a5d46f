/** The files of a project: upload, progress of their import, download, deletion. */
import { html, useEffect, useRef, useState } from "../lib.js";
import { get, remove, upload } from "../data/api.js";
import { followJob } from "../data/live_events.js";
import { address } from "../data/router.js";
import { Bar, useLoaded, Waiting } from "../ui/controls.js";
import { ConfirmByName } from "../ui/dialog.js";
import { attempt } from "../ui/messages.js";
import { format, t } from "../strings.js";
import { listOf } from "./projects_view.js";

const POLL = 2000; // milliseconds, while a file is imported

/** @param {{project: any, onChange: () => void}} props */
export function FilesView({ project, onChange }) {
  const loaded = useLoaded(async () => listOf(await get(`/v1/projects/${project.id}/files`), "files"), [project.id]);
  const [uploads, setUploads] = useState([]);
  const [doomed, setDoomed] = useState(null);
  const isImporting = (loaded.value ?? []).some((file) => file.state === "importing");

  useEffect(() => {
    if (!isImporting) return undefined;
    const timer = setInterval(loaded.reload, POLL);
    return () => clearInterval(timer);
  }, [isImporting, project.id]);

  const add = async (files) => {
    for (const file of files) {
      const update = (values) => setUploads((all) => [...all.filter((one) => one.name !== file.name), { name: file.name, ...values }]);
      const finish = () => setUploads((all) => all.filter((one) => one.name !== file.name));
      try {
        update({ share: 0 });
        const { job } = await upload(`/v1/projects/${project.id}/files`, file, (share) => update({ share }));
        update({ share: 1, importing: 0 });
        if (job?.id) followJob(job.id, (state) => {
          update({ share: 1, importing: shareOf(state) });
          if (["done", "failed", "cancelled"].includes(state.state)) { finish(); loaded.reload(); onChange(); }
        });
        else finish();
      } catch (error) {
        update({ problem: error.message });
      }
      await loaded.reload();
    }
  };
  const destroy = async () => {
    await attempt(() => remove(`/v1/files/${doomed.id}`));
    setDoomed(null);
    await loaded.reload();
    onChange();
  };
  const files = loaded.value;
  return html`
    <${DropZone} onFiles=${add} />
    ${uploads.filter((one) => one.problem || !files?.some((file) => file.name === one.name && file.state === "importing")).map((one) => html`<${Upload} key=${one.name} upload=${one} />`)}
    ${!files ? html`<${Waiting} loaded=${loaded} />`
      : files.length === 0 ? html`<p class="hint">${t.files.empty}</p>`
      : html`<ul class="files">${files.map((file) => html`<${FileCard} key=${file.id} project=${project} file=${file}
          share=${uploads.find((one) => one.name === file.name)?.importing} onDelete=${() => setDoomed(file)} />`)}</ul>`}
    ${doomed && html`<${ConfirmByName} title=${t.files.removeQuestion(doomed.name)} text=${t.files.removeText} label=${t.files.removeConfirm}
      name=${doomed.name} action=${t.files.remove} onConfirm=${destroy} onClose=${() => setDoomed(null)} />`}`;
}

/** The progress of a job, 0 to 1, whatever the server calls it. */
const shareOf = (state) => state.progress ?? (state.total ? (state.done ?? 0) / state.total : 0);

function DropZone({ onFiles }) {
  const [isOver, setOver] = useState(false);
  const input = useRef(null);
  const onDrop = (event) => {
    event.preventDefault();
    setOver(false);
    onFiles(Array.from(event.dataTransfer.files));
  };
  const choose = async (event) => {
    await onFiles(Array.from(event.target.files));
    input.current.value = "";
  };
  return html`<div class=${isOver ? "drop over" : "drop"} onDrop=${onDrop} onDragLeave=${() => setOver(false)}
    onDragOver=${(event) => { event.preventDefault(); setOver(true); }}>
    <input ref=${input} id="upload" class="unseen" type="file" multiple accept=".xlf,.xliff,.mqxliff,.sdlxliff,.mxliff,.tmx,.po,.pot" onChange=${choose} />
    <span>${t.files.drop}</span> <label class="button" for="upload">${t.files.choose}</label></div>`;
}

function Upload({ upload: { name, share, importing, problem } }) {
  if (problem) return html`<p class="warning" role="alert"><bdi>${name}</bdi>: ${problem}</p>`;
  const text = importing === undefined ? t.files.uploading(share) : t.files.importingShare(importing);
  return html`<div class="upload" role="status"><span><bdi>${name}</bdi> · ${text}</span><${Bar} value=${importing ?? share} label=${text} /></div>`;
}

function FileCard({ project, file, share, onDelete }) {
  const isReady = file.state === "ready";
  const name = isReady ? html`<a href=${address("project", project.id, "file", file.id)}><bdi>${file.name}</bdi></a>` : html`<bdi>${file.name}</bdi>`;
  const link = (query, label) => html`<a class="button" href=${`/v1/files/${encodeURIComponent(file.id)}/download${query}`} download aria-label=${`${label}: ${file.name}`}>${label}</a>`;
  return html`<li class="card file">
    <h2>${name}</h2>
    <p class="soft">${[file.format, `${file.source_language || project.source_language} → ${file.target_language || project.target_language}`,
      format.counted(file.segments ?? 0, "segment"), format.counted(file.words ?? 0, "word")].filter(Boolean).join(" · ")}</p>
    ${file.state === "failed" && html`<p class="warning">${t.files.failed}: ${file.error}</p>`}
    ${file.state === "importing" && html`<p role="status">${share ? t.files.importingShare(share) : t.files.importing}</p><${Bar} value=${share ?? 0} label=${t.files.importing} />`}
    ${isReady && html`<${Bar} value=${file.segments ? file.confirmed / file.segments : 0} label=${t.files.progress(file)} /><p class="soft small">${t.files.progress(file)}</p>`}
    ${isReady && file.estimate && html`<p class="estimate"><span class="strong">${t.files.estimate}</span> ${t.files.estimateText(shares(file))}</p>`}
    <div class="actions">
      ${isReady && html`<a class="button primary" href=${address("project", project.id, "file", file.id)} aria-label=${`${t.files.open}: ${file.name}`}>${t.files.open}</a>${link("", t.files.download)}${link("?all=true", t.files.downloadAll)}`}
      <button type="button" class="quiet" aria-label=${`${t.files.remove}: ${file.name}`} onClick=${onDelete}>${t.files.remove}</button></div>
  </li>`;
}

/** The estimate, with the number of changed segments as a share. */
function shares(file) {
  const { changed } = file.estimate;
  return { ...file.estimate, changed: changed > 1 && file.segments ? changed / file.segments : changed };
}
