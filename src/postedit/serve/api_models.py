"""Request and response models of the routes that edit, learn and score; OpenAPI describes the routes by them."""

from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import BaseModel, Field, StringConstraints

from postedit.core.edit_reasons import reasons_as_json
from postedit.core.editor import PostEdit
from postedit.evaluate.tokenisation import Tokenize
from postedit.serve.api_types import Body, ListOf, PlainText

Span = Annotated[
    list[int],
    Field(min_length=2, max_length=2, description="start and end (exclusive) in code points", examples=[[4, 9]]),
]

Text = Annotated[str, StringConstraints(max_length=1_000_000)]
"""A text; `limits.characters` of the service settings is usually lower."""

Constraint = Annotated[PlainText, StringConstraints(max_length=1_000_000)]
"""Text that a correction must contain; like all plain text, without NUL characters."""

_SRC: Final = "Press the red button."
_MT: Final = "Drücken Sie die rote Knopf."
_PE: Final = "Drücken Sie den roten Knopf."


ModelT = TypeVar("ModelT", bound=BaseModel)

RequestMarkup = Literal["plain", "xliff", "xliff2"]


class SegmentIn(Body):
    """A segment to edit."""

    src: Text = Field(description="source", examples=[_SRC])
    mt: Text | None = Field(
        None,
        description="its machine translation; optional for models with a first stage, or that read only src",
        examples=[_MT],
    )
    prefix: Constraint = Field("", description="text that the correction begins with; it may end within a word")
    required: list[Constraint] = Field([], max_length=20, description="words and phrases that the correction contains")

    @property
    def texts(self) -> tuple[str | None, ...]:
        """All texts of the segment: source, machine translation, prefix and required phrases."""
        return self.src, self.mt, self.prefix, *self.required


class EditRequest(Body):
    """Segments to edit."""

    segments: ListOf[SegmentIn] = Field(description="segments to edit, at most limits.segments of the settings")
    project: PlainText | None = Field(
        None, max_length=200, description="id of the project whose corrections, glossary and protection apply"
    )
    model: str | None = Field(
        None, max_length=200, description="name from GET /v1/models; else the model of the project, or the default one"
    )
    n_best: int = Field(1, ge=1, le=20, description="corrections per segment; all but the best are alternatives")
    evidence: bool = Field(False, description="give reasons for each edit, which takes longer")
    min_confidence: float = Field(0.0, ge=0.0, le=1.0, description="revert edits with less confidence")
    markup: RequestMarkup = Field(
        "plain",
        description="plain: src and mt are text; xliff: they are the content of source and target of XLIFF 1.2, with "
        "inline codes, and so is the corrected text (spans of edits are of the text without codes); xliff2: the same "
        "for XLIFF 2",
    )
    timeout_ms: int | None = Field(
        None, ge=100, le=600_000, description="deadline of the request, after which it gets 504"
    )


class EditOut(BaseModel):
    """One edit of a machine translation."""

    op: Literal["insert", "delete", "replace"]
    mt_span: Span
    pe_span: Span
    before: str = Field(description="text of mt at this place", examples=["die rote"])
    after: str = Field(description="text of the correction at this place", examples=["den roten"])
    confidence: float | None = Field(description="probability; null if the editor gives none", examples=[0.93])
    reasons: list[dict[str, Any]] = Field(
        description="reasons, if requested: past corrections, training examples, or words of the source"
    )


class FallbackOut(BaseModel):
    """A protected span or glossary term that the model was about to break, and how it was restored."""

    kind: str = Field(examples=["number"])
    value: str = Field(examples=["42"])
    by: str | None = Field(
        description="search: by a second search with constraints; edits: some edits were reverted; mt: all were; "
        "null: it was not restored, because there is no mt"
    )


class EditedOut(BaseModel):
    """The correction of one segment."""

    text: str = Field(
        description="the corrected translation; mt itself, byte for byte, if nothing changed", examples=[_PE]
    )
    changed: bool
    score: float = Field(description="natural-log probability of the output; 0 if the model has none")
    confidence: float | None = Field(description="lowest confidence of the edits; null if none is known")
    edits: list[EditOut]
    skipped: str | None = Field(description="why the segment was not edited, if it was not")
    reverted: int = Field(description="edits that were reverted by a gate, or to protect text")
    fallbacks: list[FallbackOut]
    alternatives: list["EditedOut"] = Field(description="the next best corrections, best first")
    draft: str | None = Field(None, description="translation by a first stage, in place of mt, if no mt was given")
    content: str | None = Field(None, description="of XLIFF: the corrected target with its inline codes")
    given_up: list[str] = Field([], description="of XLIFF: why edits were given up whose codes could not be placed")


def edited_json(mt: str, result: PostEdit) -> dict[str, Any]:
    """Return a correction as the API gives it; see `EditedOut`."""
    edits = [
        {
            "op": edit.op,
            "mt_span": list(edit.mt_span),
            "pe_span": list(edit.pe_span),
            "before": mt[slice(*edit.mt_span)],
            "after": result.text[slice(*edit.pe_span)],
            "confidence": confidence,
            "reasons": reasons_as_json(edit.reasons),
        }
        for edit, confidence in zip(result.edits, result.confidences or [None] * len(result.edits), strict=True)
    ]
    return {
        "text": result.text,
        "changed": result.changed,
        "score": result.score,
        "confidence": min(result.confidences, default=None),
        "edits": edits,
        "skipped": result.skipped,
        "reverted": result.reverted,
        "fallbacks": [{"kind": one.kind, "value": one.value, "by": one.by} for one in result.fallbacks],
        "alternatives": [edited_json(mt, one) for one in result.alternatives],
    }


class EditResponse(BaseModel):
    """Corrections, in the order of the requested segments."""

    model: str
    fingerprint: str = Field(description="fingerprint of the model; it changes when the model is replaced")
    results: list[EditedOut]


class DecisionOnEdit(Body):
    """A post-editor's decision on a proposed edit."""

    start: int = Field(ge=0, description="first code point of mt that the edit replaces")
    end: int = Field(ge=0, description="end (exclusive) of that span, in code points of mt")
    text: Text = Field(description="text that the edit writes there")
    accepted: bool


class LearnRequest(Body):
    """A correction to learn from."""

    src: Text = Field(examples=[_SRC])
    mt: Text = Field(examples=[_MT])
    pe: Text = Field(description="text that the post-editor left; the same as mt if it was right", examples=[_PE])
    project: PlainText = Field("default", max_length=200, description="id of the project that learns")
    author: str = Field("", max_length=200, description="author of the correction; the caller if not given")
    file: str = Field("", max_length=1000, description="file of the segment")
    unit: str = Field("", max_length=1000, description="name of the segment in the file")
    markup: RequestMarkup = Field(
        "plain",
        description="as in POST /v1/edit: with xliff and xliff2, src, mt and pe have inline codes, which teach nothing",
    )
    decisions: ListOf[DecisionOnEdit] = Field([], max_length=1000)


class UndoRequest(Body):
    """A correction to forget."""

    number: int = Field(ge=1, le=2**62, description="as POST /v1/learn gave it", examples=[1])
    project: PlainText = Field("default", max_length=200, description="id of its project")


class NumberResponse(BaseModel):
    """The number of an entry of the memory of corrections."""

    number: int


class ScoreRequest(Body):
    """Outputs to score against post-edits, line by line."""

    hyp: ListOf[Text] = Field(min_length=1, description="outputs", examples=[[_PE]])
    pe: ListOf[Text] = Field(min_length=1, description="human post-edits", examples=[[_PE]])
    mt: ListOf[Text] | None = Field(None, description="machine translations, to be scored as well", examples=[[_MT]])
    tokenize: Tokenize = Field(
        "none",
        description="none: words are separated by spaces; 13a: raw text; characters: text without spaces between words",
    )


class SystemScore(BaseModel):
    """Scores of one system: the outputs (`hyp`) or the unedited machine translations (`mt`)."""

    system: str = Field(examples=["hyp"])
    ter: float = Field(description="per cent; lower is better")
    bleu: float
    chrf: float


class ScoreResponse(BaseModel):
    """Scores of each system, with the signatures of the metrics."""

    scores: list[SystemScore]
    signatures: dict[str, str] = Field(description="signatures by metric, in sacrebleu's format")


class ModelOut(BaseModel):
    """A model of the service."""

    id: str
    object: Literal["model"] = "model"
    created: int = Field(description="time at which the service started, in seconds since 1970")
    owned_by: str = "postedit"
    languages: list[str] = Field(description="codes of source and target; empty if not known", examples=[["en", "de"]])
    learns: bool = Field(description="whether it learns from the corrections of projects")
    needs_mt: bool = Field(description="whether every segment needs mt")
    fingerprint: str
    state: Literal["ready", "starting"]


class ModelList(BaseModel):
    """All models of the service."""

    object: Literal["list"] = "list"
    data: list[ModelOut]


class ErrorBody(BaseModel):
    """Code, message and request id of an error."""

    code: str = Field(examples=["invalid"])
    message: str = Field(description="what is wrong, in a sentence")
    request_id: str = Field(description="id of the request, as in the header X-Request-ID and in the log")


class ErrorResponse(BaseModel):
    """The body of every error response."""

    error: ErrorBody


ERRORS: Final[dict[int | str, dict[str, Any]]] = {
    status: {"model": ErrorResponse, "description": text}
    for status, text in {
        401: "Neither a key nor a sign-in.",
        403: "The key or the person may not do this.",
        404: "Not found.",
        413: "Too large.",
        415: "The body is not declared as JSON, or is compressed.",
        421: "The service has no such host name; see `hosts` in its settings.",
        422: "The request is not valid; the message says why.",
        429: "The service is overloaded, or a limit is reached; Retry-After says when to try again.",
        500: "A defect of the service, which its log describes under the request id.",
        502: "The server of a language model refuses what the service asks, until the administrator changes that.",
        503: "The database or the server of a language model cannot be reached, or the budget of the language model "
        "is used up (Retry-After says when to try again); or the service is about to stop.",
        504: "The deadline has passed.",
        507: "The disk of the service is full.",
    }.items()
}
"""Error responses that any route may give, by status code."""


def conflict(text: str) -> dict[int | str, dict[str, Any]]:
    """Return the description of status 409, for a route that gives it."""
    return {409: {"model": ErrorResponse, "description": text}}
