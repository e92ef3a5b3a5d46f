/** All texts of the pages, in plain English. To translate the workbench, replace this file. */
import { confirmable, progressOf } from "./data/segment.js";

const number = new Intl.NumberFormat("en");
const percent = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 0 });
const share = (value) => percent.format(Math.floor(value * 100 + 1e-9) / 100); // rounded down, so that 100 % means all
const decimal = new Intl.NumberFormat("en", { maximumFractionDigits: 1, minimumFractionDigits: 1 });
const moment = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });
const day = new Intl.DateTimeFormat("en", { day: "numeric", month: "short", timeZone: "UTC" }); // as in the service

/** @param {number} count @param {string} one @param {string} many */
const counted = (count, one, many = `${one}s`) => `${number.format(count)} ${count === 1 ? one : many}`;
export const format = {
  number: (value) => number.format(value),
  percent: (value) => percent.format(value),
  share,
  decimal: (value) => decimal.format(value),
  moment: (value) => (value ? moment.format(new Date(value)) : ""),
  day: (value) => day.format(new Date(value)),
  counted,
};

export const t = {
  brand: "postedit",
  close: "Close",
  cancel: "Cancel",
  loading: "Loading …",
  retry: "Try again",
  more: "Show more",
  none: "None yet.",
  skipToContent: "Skip to the content",
  confidence: [[0.9, "very likely"], [0.7, "likely"], [0.5, "unsure"], [0, "doubtful"]],
  confidenceOf: (value) => `${t.confidence.find(([least]) => value >= least)[1]}, ${percent.format(value)}`,
  tagName: (code) => ({ open: "opening tag ", close: "closing tag ", alone: "tag " }[code.kind] ?? "tag ") + (code.label || code.id),

  nav: {
    main: "Main", project: "Views of the project", files: "Files", progress: "Progress",
    learnt: "What it learnt", glossary: "Glossary", audit: "Audit", settings: "Settings", people: "People and keys",
    signOut: "Sign out", help: "Help", helpKeys: "All keys: F1, Ctrl+/, or ? outside of texts",
  },

  save: {
    saved: "Saved",
    saving: "Saving …",
    offline: (count) => (count ? `Offline: ${counted(count, "change")} kept here` : "Offline"),
    conflicts: (count) => `${counted(count, "conflict")} to settle`,
    refused: (count) => `${counted(count, "change")} refused`,
    delayed: (count) => `${counted(count, "change")} not accepted by the server; trying again`,
    notKept: (count) => `${counted(count, "change")} not saved, and not kept in the browser`,
  },

  signIn: { title: "Sign in", name: "Name", password: "Password", submit: "Sign in", again: "Your session has ended. What you wrote is kept here and saved after you sign in." },

  projects: {
    title: "Projects",
    empty: "No projects yet. A project holds files in two languages, and learns from the corrections made in them.",
    create: "New project", name: "Name", source: "Source language", target: "Target language", languageHint: "A code such as en, de or zh-TW",
    model: "Model", modelDefault: "The model of the server", anyLanguages: "any languages", submit: "Create project",
    none: "You are in no project yet. An administrator, or the manager of a project, can add you.",
    summary: (one) => `${counted(one.files, "file")} · ${counted(one.segments, "segment")}`,
    progress: (one) => `${share(progressOf(one))} confirmed`,
  },

  files: {
    empty: "No files yet.",
    drop: "Drop XLIFF, TMX or PO files here, or", choose: "choose files",
    waiting: "Waiting to be uploaded", forget: (name) => `Close the message about ${name}`,
    uploading: "Uploading",
    importing: "Reading segments and preparing proposals", preparing: "Preparing proposals",
    failed: "Could not be read", open: "Open", download: "Download", downloadAll: "Download with proposals", remove: "Delete",
    removeQuestion: (name) => `Delete “${name}”`,
    removeText: "The file, its segments and their targets are deleted for good. What was learnt from them stays.",
    removeConfirm: "Type the name of the file to confirm",
    estimate: "Before work begins",
    estimateText: (one) => [
      one.changed !== undefined && one.changed !== null && `${percent.format(one.changed)} of segments get a proposal`,
      one.confidence !== undefined && one.confidence !== null && `mean confidence ${percent.format(one.confidence)}`,
      one.expected_ter !== undefined && one.expected_ter !== null && `${decimal.format(one.expected_ter)} proposed edits per 100 words`,
    ].filter(Boolean).join(" · "),
    jobFailed: { import: "The import failed", edit: "Editing failed" },
    noProposals: (why) => `No proposals: ${why}.`,
    progress: (one) => `${number.format(one.confirmed)} of ${number.format(confirmable(one))} confirmed`,
    export: "Download the project",
  },

  settings: {
    minConfidence: "Minimum confidence of an edit",
    minConfidenceHint: "Edits below it are not proposed. 0 shows all.",
    save: "Save settings",
    saved: "Settings saved.",
    wholeText: "The download has all files, corrections, the glossary and the audit log. Deleting the project deletes all of them.",
    remove: "Delete the project",
    removeText: "All files, corrections, and everything learnt from them are deleted for good.",
    removeConfirm: "Type the name of the project to confirm",
    timer: "Count my seconds per segment in this browser",
    timerHint: "Only while keys or the mouse are used. The sum is stored with each segment.",
  },

  editor: {
    segments: "Segments", showList: "List", search: "Search", searchHint: "Search source and target", show: "Show",
    filters: { "": "all", unconfirmed: "unconfirmed", changed: "changed", low: "low confidence", unseen: "unseen", tags: "with tags", long: "over length", learnt: "learnt", rejected: "rejected by a reviewer" },
    found: (count) => counted(count, "segment"),
    nothing: "No segment matches.",
    states: { new: "not seen", seen: "seen", draft: "draft", confirmed: "confirmed", locked: "locked" },
    fresh: { learnt: "learnt", filled: "filled in" },
    segment: (value) => `Segment ${number.format(value)}`,
    rejected: "rejected by a reviewer",
    arrived: (segment, isRejected) =>
      `${t.editor.segment(segment.number)}, ${t.editor.states[segment.state] ?? segment.state}${isRejected ? `, ${t.editor.rejected}` : ""}`,
    source: "Source",
    mt: "Machine translation",
    noMt: "None",
    proposal: "Proposal",
    noChange: "No change is proposed.",
    notYet: "The proposal is being prepared.",
    noProposal: "There is no proposal.",
    skipped: (why) => `The model skipped this segment: ${why}.`,
    target: "Target",
    targetLabel: (value) => `Target of segment ${number.format(value)}`,
    locked: "This segment is locked in the file and cannot be changed.",
    confirm: "Confirm", reopen: "Unconfirm", accept: "Accept all", reject: "Reject all", undo: "Undo", redo: "Redo",
    previous: "Previous segment", next: "Next segment",
    occurs: (count) => `${number.format(count)} times in this file`,
    filled: (count) => `${counted(count, "repetition")} filled in.`,
    learnt: (count) => `${counted(count, "proposal")} changed by what was learnt.`,
    late: "The service is busy: proposals will be updated with what was learnt a little later.",
    editIs: (value, status) => `Edit ${value} ${status}.`,
    editState: (status, confidence) => `, ${status}${confidence === null ? "" : `, ${t.confidenceOf(confidence)}`}`,
    statuses: { accepted: "accepted", rejected: "rejected", rewritten: "rewritten" }, allAccepted: "All edits accepted.",
    allRejected: "All edits rejected.", nothingToUndo: "There is nothing more to undo.",
    readOnly: "You can read this project but not change it. A manager of the project can make you a translator.",
    past: "History",
    firstSegment: "This is the first segment of the list.",
    lastSegment: "This is the last segment of the list.",
    length: (now, most) => `${number.format(now)} of ${number.format(most)} characters`,
    tooLong: (more) => `${number.format(more)} too long`,
    refused: {
      enter: "Ctrl+Enter confirms. Shift+Enter begins a new line.",
      tags: "Tags cannot be deleted. Alt+Shift+arrows (on a Mac, Option+Shift+arrows) move the tag beside the caret.",
      nesting: "Pairs of tags must nest: each closes after it opens, and none overlaps another.",
    },
    held: "Click where the tag should go. Escape leaves it where it is.",
    isHere: (names) => `${names.join(", ")} ${names.length === 1 ? "is" : "are"} here`,
    lastBy: (name, when) => `last changed by ${name}, ${when}`,
    conflict: "Another person saved this segment while you worked on it.",
    mine: "Your text", theirs: (name) => (name ? `Text of ${name}` : "The saved text"), keepMine: "Save mine", takeTheirs: "Take theirs",
    discard: "Discard", refusal: (why) => `This was not saved: ${why}`,
    goTo: "Go to segment", goToNumber: "Number", context: "Segments around this one", open: "Choose a segment from the list.",
  },

  left: {
    title: "Texts that could not be saved", hint: "The file or the project is gone, or you may no longer change it. Copy a text to keep it.",
    copy: "Copy", copied: (value) => `Text of segment ${value} copied.`,
  },

  reasons: {
    title: "Why",
    none: "The model gives no reason for this edit.",
    waiting: "Asking the model for the reason …",
    corrections: (count) => (count === 1 ? "Changed once" : count === 2 ? "Changed twice" : `Changed ${number.format(count)} times`),
    last: (author, when) => `last by ${author || "someone"}${when ? `, ${when}` : ""}`,
    example: "Example",
    source: "Because of",
    notInSource: "The reason is not in the source.",
    training: (made, kept) => `In the training data ${counted(made, "time")} changed, ${counted(kept, "time")} kept`,
    glossary: (term, translation) => `Glossary: ${term} → ${translation}`,
    terms: "Glossary",
    matches: "Matches",
    notes: "Notes",
    useMatch: "Use",
    noMatch: "There is no match.",
    correctionBy: (author) => `corrected by ${author || "someone"}`,
    deleted: "nothing",
  },

  past: {
    title: (value) => `History of segment ${number.format(value)}`,
    hint: "Latest first, as changes to the current target. Arrow keys go from one to the next.",
    empty: "Nothing has been saved for this segment yet.",
    putBack: "Restore",
    putBackOf: (row) => `Restore the text of ${row.who}, ${moment.format(new Date(row.made))}`,
    isNow: "This is the current target.", isBack: "The earlier text is restored. Undo reverses this.",
    filledFrom: (value) => `filled in from segment ${number.format(value)}`,
  },

  timer: { question: "Count the seconds you spend on each segment, to see effort over time?", yes: "Count", no: "Do not count" },

  progress: {
    done: "confirmed", segments: "segments", words: "words",
    confirmed: (count) => (count === 1 ? "confirmed segment" : "confirmed segments"),
    perDay: "Confirmed segments per day",
    ter: "Effort: TER against the confirmed target",
    terHint: "Edits per 100 words; fewer mean less work. “Unedited MT” is the machine translation as it was.",
    mt: "unedited MT", proposal: "proposal",
    kinds: "Edits accepted, by kind",
    accepted: "accepted",
    seconds: "Seconds per segment",
    secondsHint: "Of people who agreed to the timer.",
    people: "People", person: "Person",
    day: "Day (UTC)",
    empty: "Figures appear with the first segment that is confirmed here.",
    asTable: "As a table",
    kindNames: { insert: "insertion", delete: "deletion", replace: "replacement", shift: "move" },
  },

  learnt: {
    hint: "Each correction applies to all segments that nobody has confirmed. Undoing one also undoes what was learnt from it.",
    search: "Search corrections", by: "by", undo: "Undo", undone: "undone", undoName: (value) => `Undo correction ${number.format(value)}`,
    correction: (value) => `correction ${number.format(value)}`, undoneNow: (value) => `Correction ${number.format(value)} is undone.`,
    kept: "kept as it was", empty: "Nothing has been learnt yet.", notFound: "No correction has this text.",
    import: "Import corrections (TSV or JSONL)",
    imported: (added, known) => `${counted(added, "correction")} imported${known ? `; ${number.format(known)} already known` : ""}.`,
    export: "Download corrections",
  },

  glossary: {
    hint: "One term per line: the term, a tab, its translation.",
    tableHint: "Proposals use these translations. In the source, the terms are underlined.",
    label: "Terms, one per line",
    save: "Save glossary",
    saved: (count) => `Glossary saved: ${counted(count, "term")}.`,
    discard: "Discard changes", unsaved: "Not saved. This browser keeps your changes.", notKept: "Not saved, and not kept in this browser: it has no room, or another tab keeps other changes.",
    stale: "The glossary was saved by another person after you began to change it.", theirs: "The saved glossary",
    leaveQuestion: "Leave without saving the glossary?", leave: "Leave", stay: "Stay",
    leaveKept: "Your changes are not saved. This browser keeps them for you until you come back.",
    leaveLost: "Your changes are not saved, and this browser cannot keep them: they are lost if you leave.",
    search: "Search terms",
    bad: (line) => `Not saved: line ${number.format(line)} needs a term, a tab and a translation.`, incomplete: (text) => `Not saved: “${text}” needs both a term and a translation.`,
    term: "Term", translation: "Translation", add: "Add a term", remove: (term) => `Remove ${term}`, asText: "Edit as text", asTable: "Edit as table",
  },

  audit: {
    title: "Audit", time: "Time", who: "Who", what: "What", detail: "Details", empty: "Nothing has happened yet.",
    decision: (row) => `segment ${number.format(row.segment)} ${row.state === "confirmed" ? t.editor.states.confirmed : "confirmation undone"}${row.filled_from ? `, filled in from ${number.format(row.filled_from)}` : ""}`,
    correction: ({ added, undone, deleted }) => {
      if (added) return `${counted(added, "correction")} added`;
      return undone ? `${t.learnt.correction(undone)} undone` : `all corrections deleted (${number.format(deleted)})`;
    },
    file: { added: "file added", ready: "file read", failed: "file could not be read", deleted: "file deleted" },
    project: { created: "project created", changed: "settings changed", glossary: "glossary saved" },
    entries: (count) => counted(count, "term"),
    member: ({ user, role }) => (role ? `${user} is ${t.people.roles[role]}` : `${user} removed from the project`),
    settings: { name: "name", source_language: "source language", target_language: "target language", model: "model", protect: "protected spans", min_confidence: "minimum confidence" },
    setting: (name, value) => `${t.audit.settings[name] ?? name}: ${Array.isArray(value) ? value.join(", ") || "nothing" : value ?? "default"}`,
  },

  people: {
    title: "People and keys",
    users: "People", addUser: "Add a person", name: "Name", password: "Password", admin: "Administrator", active: "Active",
    create: "Add", disable: "Disable", enable: "Enable",
    keys: "Keys for programs", addKey: "Create a key", scopes: "Scopes", created: "Created", revoke: "Revoke",
    keyShown: "Copy this key now. It is not shown again.",
    members: "Members of the project", roles: { reader: "reader", translator: "translator", manager: "manager" },
    revokeQuestion: (name) => `Revoke the key “${name}”?`, revokeText: "Programs that use it can no longer reach the service. This cannot be undone.",
    owner: "Owner", projects: "Projects", allProjects: "all", scopeNames: { metrics: "metrics (only reads figures of the service)" },
  },

  password: {
    title: (name) => `Password of ${name}`, set: "Set password", change: "Change password", new: "New password", again: "New password again",
    hint: "A password has at least 10 characters. A new one ends all other sessions of this person.",
    differ: "The two passwords differ.", changed: (name) => `The password of ${name} is changed.`,
  },

  help: {
    title: "Keys",
    intro: "Everything can be done with the keyboard.",
    groups: { work: "Segments", edits: "Edits", text: "Writing", find: "Search" },
    keys: {
      confirm: "Confirm, and go to the next that is not confirmed",
      next: "Next segment", previous: "Previous segment",
      nextOpen: "Next segment that is not confirmed", previousOpen: "Previous segment that is not confirmed",
      toggle: "Accept or reject edit 1 to 9",
      acceptAll: "Accept all edits", rejectAll: "Reject all edits",
      undo: "Undo, without limit", redo: "Redo",
      moveTag: "Move the tag beside the caret", newLine: "New line",
      takeSource: "Source into target", useMatch: "Best match into target", past: "History of the segment", reopen: "Unconfirm",
      search: "Search", goTo: "Go to a segment by its number", field: "Back to the target", filter: "Choose a filter", help: "This help; outside of texts ? too",
    },
  },

  errors: { notFound: "There is nothing at this address.", home: "Go to the projects" },
};
