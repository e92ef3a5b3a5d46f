"""Reasons for an edit: corrections, training triplets, words of the source, or an error that a model named."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

EXAMPLES: Final = 3
"""The largest number of corrections or training examples that a reason names."""


@dataclass(frozen=True, slots=True)
class NamedCorrection:
    """A correction by its number in a memory, with what the memory stores of it; fields are empty where unknown."""

    number: int
    src: str = ""
    mt: str = ""
    pe: str = ""
    author: str = ""
    made: datetime | None = None


@dataclass(frozen=True, slots=True)
class CorrectionReason:
    """Corrections that made the same change, counted in the widest context in which any did, or in the same segment.

    Args:
        count: number of corrections that made the change.
        left: number that left the words as they were.
        otherwise: number that changed the words in another way.
        corrections: the corrections that made the change, latest first, at most `EXAMPLES`.
        same_segment: whether the corrections are of the same source and mt, and the change covers the whole segment.
    """

    count: int
    left: int
    otherwise: int
    corrections: tuple[NamedCorrection, ...]
    same_segment: bool = False


@dataclass(frozen=True, slots=True)
class TrainingExample:
    """Some words of a training triplet before and after post-editing; an ellipsis stands for the rest of the text."""

    before: str
    after: str


@dataclass(frozen=True, slots=True)
class TrainingReason:
    """Training triplets that made the same change, counted in the context in which the change is most probable.

    Args:
        made: number of places, of those that the model looked at, where the change was made.
        kept: number of places where the words were left as they were.
        otherwise: number of places where the words were changed in another way.
        examples: examples of the change, at most `EXAMPLES`.
    """

    made: int
    kept: int
    otherwise: int
    examples: tuple[TrainingExample, ...]


@dataclass(frozen=True, slots=True)
class CitedWord:
    """A word of the source that an edit rests on."""

    text: str
    span: tuple[int, int]  # in characters of src, end exclusive
    nats: float | None = None  # log-probability that the edit loses without the word; None: not known


@dataclass(frozen=True, slots=True)
class SourceReason:
    """Words of the source that support the edit; empty if the edit does not rest on the source."""

    words: tuple[CitedWord, ...]


@dataclass(frozen=True, slots=True)
class ErrorReason:
    """An error in mt that a language model named before it made the correction.

    Args:
        text: the erroneous words of mt, as the model quoted them.
        category: category of the error, such as accuracy.
        severity: severity of the error, such as minor.
    """

    text: str
    category: str
    severity: str


EditReason = CorrectionReason | TrainingReason | SourceReason | ErrorReason


def reasons_as_json(reasons: Iterable[EditReason]) -> list[dict[str, Any]]:
    """Return reasons as JSON values, each with its `kind`."""
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
    """Return the reasons that `reasons_as_json` converted; nats remain rounded to 4 decimals."""
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
