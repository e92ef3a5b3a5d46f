"""Answers of the routes of projects, files, jobs and people, as OpenAPI describes them.

They describe what the store gives, and cost nothing at run time: tests compare them with every answer.
"""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from postedit.serve.api_models import EditedOut, ErrorResponse, Span
from postedit.serve.segment_codes import CodeKind
from postedit.serve.store_people import Role, Scope
from postedit.text.span_patterns import Kind

FileState = Literal["importing", "ready", "failed"]
JobState = Literal["waiting", "running", "done", "failed", "cancelled"]
SegmentState = Literal["new", "seen", "draft", "confirmed", "locked"]


def answering(model: type[BaseModel], status: int = 200) -> dict[str, Any]:
    """Return the options of a route whose answers are described, and not built, by a model."""
    return {"response_model": None, "responses": {status: {"model": model}}}


class ProjectOut(BaseModel):
    """A project with figures of its files."""

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
    confirmed: int = Field(description="segments")
    locked: int = Field(description="segments that the files lock, so that nobody confirms them")


class OwnProject(ProjectOut):
    """A project, and what the caller is in it."""

    role: Role


class ProjectList(BaseModel):
    """The projects that the caller may see."""

    projects: list[ProjectOut]


class GlossarySaved(BaseModel):
    """What was saved."""

    entries: int


class DecisionOut(BaseModel):
    """A decision on a proposed edit: `text` in place of characters `start` to `end` of mt."""

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
    """Corrections, the latest first."""

    corrections: list[CorrectionOut]
    next: int | None = Field(description="`before` of the next page")


class Imported(BaseModel):
    """The corrections that were added, and how many were not, because they were there."""

    added: int
    known: int = Field(description="corrections with a time that the project had; they are not added again")
    first: int | None = Field(description="number of the first that was added; null: none was")
    last: int | None


class Deleted(BaseModel):
    """How much was deleted."""

    deleted: int


class Undone(BaseModel):
    """The entry that takes a correction back."""

    number: int


class Figures(BaseModel):
    """Sums over confirmed segments; TER in percent, null without words."""

    segments: int
    words: int
    edits: int
    ter_mt: float | None
    ter_proposal: float | None
    seconds: float = Field(description="of those segments for which there is a time")
    timed: int = Field(description="segments for which there is a time")


class DayFigures(Figures):
    """Figures of a day (UTC)."""

    day: str


class PersonFigures(Figures):
    """Figures of a person."""

    name: str


class KindFigures(BaseModel):
    """What was decided on edits of a kind."""

    kind: str
    accepted: int
    rejected: int


class ProgressOut(BaseModel):
    """Figures of the work in a project."""

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
    """What was done, the latest first."""

    entries: list[EventOut]
    next: int | None = Field(description="`before` of the next page")


class EventList(BaseModel):
    """Events in order."""

    events: list[EventOut]
    last: int = Field(description="number of the last event of the project")


class MemberOut(BaseModel):
    """A member of a project."""

    id: str
    name: str
    role: Role


class MemberList(BaseModel):
    """The members of a project."""

    members: list[MemberOut]


class UserName(BaseModel):
    """An active user, as managers of projects see one."""

    id: str
    name: str
    active: bool
    roles: dict[str, Role] = Field(description="by id of project")


class UserOut(UserName):
    """A user."""

    created: str
    admin: bool


class UserList(BaseModel):
    """Users by name; managers of projects get less of each."""

    users: list[UserOut | UserName]


class SignedIn(BaseModel):
    """Who is signed in; without an id, the one user of a service that needs no sign-in."""

    id: str | None
    name: str
    admin: bool
    roles: dict[str, Role]


class SessionOut(BaseModel):
    """A session."""

    user: SignedIn
    csrf: str = Field(description="for the header X-CSRF-Token of requests that change something")
    auth: Literal["password", "none"]


class KeyOut(BaseModel):
    """A key of a program, without the key itself."""

    id: str
    name: str
    owner: str
    rate: float
    created: str
    scopes: list[Scope]
    projects: list[str] | None


class NewKeyOut(KeyOut):
    """A new key."""

    key: str = Field(description="the key itself, which nothing else tells again")


class KeyList(BaseModel):
    """Keys."""

    keys: list[KeyOut]


class JobOut(BaseModel):
    """A job."""

    id: str
    project: str
    file: str
    kind: Literal["import", "propose", "edit", "fill"]
    state: JobState
    done: int
    total: int
    error: str
    note: str = Field(description="what there is to say about how it ended")
    created: str


class JobList(BaseModel):
    """Jobs, the latest first."""

    jobs: list[JobOut]


class EstimateOut(BaseModel):
    """What the proposals tell about the machine translation of a file."""

    proposals: int
    changed: float = Field(description="part of the proposals that change something")
    confidence: float | None
    expected_ter: float | None = Field(description="of mt, in percent, were all proposals right")


class FileOut(BaseModel):
    """A file, with how far the work in it has come."""

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
    locked: int = Field(description="segments that the file locks, so that nobody confirms them")
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
    """An inline code of a text; both codes of a pair have one id."""

    at: int = Field(description="position in code points")
    id: str
    kind: CodeKind
    label: str


class TermOut(BaseModel):
    """An entry of the glossary that is in the source."""

    source: str
    target: str
    span: Span


class EditDecisionOut(BaseModel):
    """A decision on an edit of a proposal."""

    edit: int
    accepted: bool


class SegmentOut(BaseModel):
    """A segment."""

    number: int
    unit: str
    src: str
    mt: str
    learnt: bool = Field(description="the proposal changed because of what was learnt since")
    target: str
    state: SegmentState
    version: int
    updated_by: str
    updated: str
    src_codes: list[CodeOut]
    mt_codes: list[CodeOut]
    proposal: EditedOut | None
    prepared: bool = Field(description="the model has been asked: without a proposal, it has none")
    proposal_codes: list[CodeOut]
    target_codes: list[CodeOut]
    decisions: list[EditDecisionOut]
    max_length: int | None
    notes: list[str]
    matches: list["MatchOut"] = Field(description="those of the file")
    terms: list[TermOut]
    repeats: int | None
    filled_from: int | None = Field(description="number of the segment whose confirmation filled this one in")
    correction: int | None = Field(description="number of the correction that it taught")


class MatchOut(BaseModel):
    """A translation of a similar source, of the file or of the corrections of the project."""

    src: str
    target: str
    score: float | None = Field(description="from 0 to 1")
    origin: str
    mt: str | None = None
    author: str | None = None
    number: int | None = None


class SegmentPage(BaseModel):
    """Segments in order."""

    segments: list[SegmentOut]
    total: int | None = Field(description="of all pages; with the first one alone")
    next: int | None = Field(description="`after` of the next page")


class SegmentNumbers(BaseModel):
    """Numbers of segments in order."""

    numbers: list[int]


class PastDecision(BaseModel):
    """What a person decided on a segment."""

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
    """What was decided on a segment, in order."""

    history: list[PastDecision]


class MatchList(BaseModel):
    """Matches, the nearest first."""

    matches: list[MatchOut]


class Saved(BaseModel):
    """What became of a decision."""

    segment: SegmentOut
    filled: list[int] = Field(description="numbers of repetitions that were filled in")
    correction: int | None


class Conflict(ErrorResponse):
    """A decision on a segment that somebody else has changed, and what it is now."""

    segment: SegmentOut


class ProposalOut(BaseModel):
    """A proposal for a segment."""

    proposal: EditedOut | None
    codes: list[CodeOut]
    learnt: bool


class ProposalsOut(BaseModel):
    """Proposals by number of the segment."""

    proposals: dict[str, ProposalOut]


class Health(BaseModel):
    """The process lives."""

    status: Literal["ok"]


class Readiness(BaseModel):
    """Whether requests are welcome."""

    status: Literal["ready", "starting", "stopping", "away", "read_only"]
    models: dict[str, Literal["ready", "starting"]]
    message: str = Field("", description="why not")
