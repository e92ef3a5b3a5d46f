"""Response models of the routes for projects, files, jobs and people, for OpenAPI only.

They describe what the store returns, but do not validate it, so they cost nothing at run time; tests compare every
response with them.
"""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from postedit.files.marked_text import CodeKind
from postedit.serve.api_models import EditedOut, ErrorResponse, Span
from postedit.serve.store_people import Role, Scope
from postedit.text.span_patterns import Kind

FileState = Literal["importing", "ready", "failed"]
JobState = Literal["waiting", "running", "done", "failed", "cancelled"]
SegmentState = Literal["new", "seen", "draft", "confirmed", "locked"]


def answering(model: type[BaseModel], status: int = 200) -> dict[str, Any]:
    """Return the options of a route whose response is described by a model, but not built or validated by it."""
    return {"response_model": None, "responses": {status: {"model": model}}}


class ProjectOut(BaseModel):
    """A project, with counts of its files and segments."""

    id: str
    name: str
    source_language: str
    target_language: str
    model: str = Field(description="empty: the default one")
    protect: list[Kind]
    min_confidence: float
    created: str
    files: int
    segments: int
    confirmed: int = Field(description="number of confirmed segments")
    locked: int = Field(description="segments that are locked in the files and cannot be confirmed")


class OwnProject(ProjectOut):
    """A project, and the role of the caller in it."""

    role: Role


class ProjectList(BaseModel):
    """The projects that the caller may see."""

    projects: list[ProjectOut]


class GlossarySaved(BaseModel):
    """Number of glossary entries that were saved."""

    entries: int


class DecisionOut(BaseModel):
    """A decision on a proposed edit, which replaces code points `start` to `end` (exclusive) of mt with `text`."""

    start: int
    end: int
    text: str
    accepted: bool


class CorrectionOut(BaseModel):
    """A correction that a project has learnt."""

    number: int
    src: str
    mt: str
    pe: str
    author: str
    file: str
    unit: str
    made: str | None
    decisions: list[DecisionOut]
    undone: bool


class CorrectionPage(BaseModel):
    """A page of corrections, the latest first."""

    corrections: list[CorrectionOut]
    next: int | None = Field(description="`before` of the next page")


class Imported(BaseModel):
    """How many corrections were added, and how many were not because the project had them already."""

    added: int
    known: int = Field(
        description="corrections that were not added, because the project had them already (same texts and time)"
    )
    first: int | None = Field(description="number of the first correction that was added; null: none was added")
    last: int | None


class Deleted(BaseModel):
    """Number of corrections that were deleted."""

    deleted: int


class Undone(BaseModel):
    """Number of the memory entry that undoes a correction."""

    number: int


class Figures(BaseModel):
    """Sums over confirmed segments. TER is in percent, and null if there are no words."""

    segments: int
    words: int
    edits: int
    ter_mt: float | None
    ter_proposal: float | None
    seconds: float = Field(description="total time of the segments whose time was measured")
    timed: int = Field(description="number of segments whose time was measured")


class DayFigures(Figures):
    """Figures for one day (UTC)."""

    day: str


class PersonFigures(Figures):
    """Figures for one person."""

    name: str


class KindFigures(BaseModel):
    """How many proposed edits of one kind were accepted and rejected."""

    kind: str
    accepted: int
    rejected: int


class ProgressOut(BaseModel):
    """Figures of the work in a project, by day, by person and by kind of edit."""

    days: list[DayFigures]
    people: list[PersonFigures]
    kinds: list[KindFigures]


class EventOut(BaseModel):
    """Something that happened in a project; further fields depend on its kind."""

    model_config = ConfigDict(extra="allow")

    id: int
    kind: str
    who: str
    made: str


class AuditPage(BaseModel):
    """A page of the audit log, the latest entry first."""

    entries: list[EventOut]
    next: int | None = Field(description="`before` of the next page")


class EventList(BaseModel):
    """Events, in order."""

    events: list[EventOut]
    last: int = Field(description="number of the last event of the project")


class MemberOut(BaseModel):
    """A member of a project, with the role."""

    id: str
    name: str
    role: Role


class MemberList(BaseModel):
    """The members of a project."""

    members: list[MemberOut]


class UserName(BaseModel):
    """An active user, as managers of projects see them."""

    id: str
    name: str
    active: bool
    roles: dict[str, Role] = Field(description="roles by project id")


class UserOut(UserName):
    """A user, as administrators see them."""

    created: str
    admin: bool


class UserList(BaseModel):
    """Users, sorted by name; managers of projects get fewer fields than administrators."""

    users: list[UserOut | UserName]


class SignedIn(BaseModel):
    """The user who is signed in; `id` is null for the only user of a service without sign-in."""

    id: str | None
    name: str
    admin: bool
    roles: dict[str, Role]


class SessionOut(BaseModel):
    """A session of a browser."""

    user: SignedIn
    csrf: str = Field(description="token for the header X-CSRF-Token of requests that change something")
    auth: Literal["password", "none"]


class KeyOut(BaseModel):
    """An API key, without its secret."""

    id: str
    name: str
    owner: str
    rate: float
    created: str
    scopes: list[Scope]
    projects: list[str] | None


class NewKeyOut(KeyOut):
    """A new API key, with its secret."""

    key: str = Field(description="the secret; it is shown only in this response")


class KeyList(BaseModel):
    """API keys."""

    keys: list[KeyOut]


class JobOut(BaseModel):
    """A job on a file, with its progress in segments."""

    id: str
    project: str
    file: str
    kind: Literal["import", "propose", "edit", "fill"]
    state: JobState
    done: int
    total: int
    error: str
    note: str = Field(description="information about a job that ended well")
    created: str


class JobList(BaseModel):
    """Jobs, the latest first."""

    jobs: list[JobOut]


class EstimateOut(BaseModel):
    """An estimate of the quality of a file's machine translation, from the proposals."""

    proposals: int
    changed: float = Field(description="share of the proposals that change something")
    confidence: float | None
    expected_ter: float | None = Field(
        description="edits proposed per 100 words: TER of mt, in percent, if all proposals are right and complete"
    )


class FileOut(BaseModel):
    """A file, with the progress of the work on it."""

    id: str
    project: str
    name: str
    format: str
    source_language: str
    target_language: str
    state: FileState
    error: str
    words: int
    segments: int
    changed: int
    seen: int
    confirmed: int
    locked: int = Field(description="segments that are locked in the file and cannot be confirmed")
    created: str
    estimate: EstimateOut | None


class FileList(BaseModel):
    """Files, the latest first."""

    files: list[FileOut]


class Uploaded(BaseModel):
    """A file, and the job that reads it."""

    file: FileOut
    job: JobOut


class CodeOut(BaseModel):
    """An inline code in a text; the opening and closing codes of a pair share one id."""

    at: int = Field(description="position in code points")
    id: str
    kind: CodeKind
    label: str = Field(description="code as people write it: unescaped, in one line, at most 200 characters")


class TermOut(BaseModel):
    """A glossary entry whose source term occurs in the source."""

    source: str
    target: str
    span: Span


class EditDecisionOut(BaseModel):
    """A decision on one edit of a proposal."""

    edit: int
    accepted: bool


class SegmentOut(BaseModel):
    """A segment of a file, with its proposal and the last decision on it."""

    number: int
    unit: str
    src: str
    mt: str
    learnt: bool = Field(description="whether the proposal has changed because of later corrections")
    target: str
    state: SegmentState
    version: int
    updated_by: str
    updated: str
    src_codes: list[CodeOut]
    mt_codes: list[CodeOut]
    proposal: EditedOut | None
    prepared: bool = Field(description="whether the model has been asked; if so and `proposal` is null, it has none")
    proposal_codes: list[CodeOut]
    target_codes: list[CodeOut]
    decisions: list[EditDecisionOut]
    rejected: bool = Field(description="whether a reviewer had rejected the target, as the imported file says")
    max_length: int | None
    notes: list[str]
    matches: list["MatchOut"] = Field(description="matches stored in the file")
    terms: list[TermOut]
    repeats: int | None
    same: str = Field(description="value that is equal for segments of the file that are filled in together")
    filled_from: int | None = Field(description="number of the segment whose confirmation filled this one in")
    correction: int | None = Field(description="number of the correction that was learnt from it")


class MatchOut(BaseModel):
    """A translation of a similar source, from the file or from the corrections of the project."""

    src: str
    target: str
    score: float | None = Field(description="from 0 to 1")
    origin: str
    mt: str | None = None
    author: str | None = None
    number: int | None = None


class SegmentPage(BaseModel):
    """A page of segments, in order."""

    segments: list[SegmentOut]
    total: int | None = Field(description="number of segments on all pages; only given with the first page")
    next: int | None = Field(description="`after` of the next page")


class SegmentNumbers(BaseModel):
    """Numbers of segments, in order."""

    numbers: list[int]


class PastDecision(BaseModel):
    """A past decision on a segment."""

    file: str
    segment: int
    version: int
    state: SegmentState
    target: str
    filled_from: int | None
    correction: int | None
    who: str
    made: str
    codes: list[CodeOut]
    decisions: list[EditDecisionOut]


class History(BaseModel):
    """All decisions on a segment, in order."""

    history: list[PastDecision]


class MatchList(BaseModel):
    """Matches, the most similar first."""

    matches: list[MatchOut]


class Saved(BaseModel):
    """The outcome of a saved decision."""

    segment: SegmentOut
    filled: list[int] = Field(description="numbers of repetitions that were filled in")
    correction: int | None


class Conflict(ErrorResponse):
    """The error for a decision on a segment that somebody else has changed, with its present state."""

    segment: SegmentOut


class ProposalOut(BaseModel):
    """A proposal of the model for a segment."""

    proposal: EditedOut | None
    codes: list[CodeOut]
    learnt: bool


class ProposalsOut(BaseModel):
    """Proposals, by segment number."""

    proposals: dict[str, ProposalOut]


class Health(BaseModel):
    """The answer of a live process."""

    status: Literal["ok"]


class Readiness(BaseModel):
    """Whether the service accepts requests."""

    status: Literal["ready", "starting", "stopping", "away", "read_only"]
    models: dict[str, Literal["ready", "starting"]]
    message: str = Field("", description="why the service is not ready")
