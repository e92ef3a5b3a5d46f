"""Reasons for an edit: corrections, triplets of training, words of the source, or an error that a model named."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

EXAMPLES: Final = 3
"""Corrections, or examples of training, that a reason names at most."""


@dataclass(frozen=True, slots=True)
class NamedCorrection:
    """A correction of a memory by its number, and what the memory has of it; empty where that is not known."""

    number: int
    src: str = ""
    mt: str = ""
    pe: str = ""
    author: str = ""
    made: datetime | None = None


@dataclass(frozen=True, slots=True)
class CorrectionReason:
    """Corrections made the same change, in the widest context in which one did, or of the same segment.

    Args:
        count: how many made it.
        left: how many left the words as they are.
        otherwise: how many changed them in another way.
        corrections: the latest that made it, at most `EXAMPLES`, the last one first.
        same_segment: they are corrections of the same source and mt, and the change is that of the whole segment.
    """

    count: int
    left: int
    otherwise: int
    corrections: tuple[NamedCorrection, ...]
    same_segment: bool = False


@dataclass(frozen=True, slots=True)
class TrainingExample:
    """What a triplet of training made of some words; an ellipsis stands for the rest of the texts."""

    before: str
    after: str


@dataclass(frozen=True, slots=True)
class TrainingReason:
    """Triplets of training made the same change, in the context in which this is most probable.

    Args:
        made: how many made it, of the places that the model looked at.
        kept: how many kept the words as they are.
        otherwise: how many changed them in another way.
        examples: some that made it, at most `EXAMPLES`.
    """

    made: int
    kept: int
    otherwise: int
    examples: tuple[TrainingExample, ...]


@dataclass(frozen=True, slots=True)
class CitedWord:
    """A word of the source, characters `span` (end exclusive), and the nats that the edit loses without it."""

    text: str
    span: tuple[int, int]
    nats: float | None = None  # None: not known


@dataclass(frozen=True, slots=True)
class SourceReason:
    """Words of the source that speak for the edit; none if the edit does not rest on the source."""

    words: tuple[CitedWord, ...]


@dataclass(frozen=True, slots=True)
class ErrorReason:
    """An error of mt that a language model named before it corrected it.

    Args:
        text: the words of mt, as the model quoted them.
        category: of the error, such as accuracy.
        severity: of the error, such as minor.
    """

    text: str
    category: str
    severity: str


EditReason = CorrectionReason | TrainingReason | SourceReason | ErrorReason


def reasons_as_json(reasons: Iterable[EditReason]) -> list[dict[str, Any]]:
    """Return reasons as plain values for JSON, each with its `kind`."""
    return [_as_json(one) for one in reasons]


def _as_json(reason: EditReason) -> dict[str, Any]:
    match reason:
        case CorrectionReason():
            return {
                "kind": "correction",
                "count": reason.count,
                "left": reason.left,
                "otherwise": reason.otherwise,
                "same_segment": reason.same_segment,
                "corrections": [
                    {
                        "number": one.number,
                        "src": one.src,
                        "mt": one.mt,
                        "pe": one.pe,
                        "author": one.author,
                        "made": one.made and one.made.isoformat(),
                    }
                    for one in reason.corrections
                ],
            }
        case TrainingReason():
            examples = [{"before": one.before, "after": one.after} for one in reason.examples]
            counts = {"made": reason.made, "kept": reason.kept, "otherwise": reason.otherwise}
            return {"kind": "training", **counts, "examples": examples}
        case SourceReason():
            return {"kind": "source", "words": [_word_as_json(word) for word in reason.words]}
        case ErrorReason():
            return {"kind": "error", "text": reason.text, "category": reason.category, "severity": reason.severity}


def _word_as_json(word: CitedWord) -> dict[str, Any]:
    nats = {} if word.nats is None else {"nats": round(word.nats, 4)}
    return {"text": word.text, "span": list(word.span), **nats}


def reasons_of_json(values: Sequence[Mapping[str, Any]]) -> tuple[EditReason, ...]:
    """Return the reasons that `reasons_as_json` made plain, except for rounding."""
    return tuple(_of_json(dict(value)) for value in values)


def _of_json(value: dict[str, Any]) -> EditReason:
    kind = value.pop("kind")
    if kind == "correction":
        named = [{**one, "made": one["made"] and datetime.fromisoformat(one["made"])} for one in value["corrections"]]
        return CorrectionReason(**{**value, "corrections": tuple(NamedCorrection(**one) for one in named)})
    if kind == "training":
        return TrainingReason(**{**value, "examples": tuple(TrainingExample(**one) for one in value["examples"])})
    if kind == "error":
        return ErrorReason(**value)
    return SourceReason(tuple(CitedWord(**{**one, "span": tuple(one["span"])}) for one in value["words"]))
