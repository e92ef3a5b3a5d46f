"""Conversion of explained sentences to records of plain values for JSON files, and back."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from postedit.core.edit_reasons import reasons_as_json, reasons_of_json
from postedit.core.editor import Edit
from postedit.core.evidence import Alternative, Evidence
from postedit.core.types import AttentionKey
from postedit.explain.explained_sentence import ExplainedSentence, Span

_DECIMALS: Final = 6  # decimals of weights and log-probabilities: more than the precision of a model in fp32
_INFINITY: Final = 1e6  # nats that stand for infinity, which JSON cannot represent


def sentence_to_record(sentence: ExplainedSentence) -> dict[str, Any]:
    """Return a record of a sentence; spans are in characters, end exclusive; evidence is rounded to six decimals."""
    words = sentence.words
    return {
        "src": sentence.src,
        "mt": sentence.mt,
        "output": sentence.output,
        "edits": [_edit_to_record(edit) for edit in sentence.edits],
        "confidences": list(sentence.confidences),
        "words": {
            "streams": {name: list(texts) for name, texts in words.streams.items()},
            "output": list(words.output),
            "log_probs": _plain(words.log_probs),
            "attention": [{**key._asdict(), "weights": _plain(weights)} for key, weights in words.attention.items()],
            "runners_up": [[[one.text, *_plain([one.log_prob])] for one in others] for others in words.runners_up],
            "shares": {name: _plain(shares) for name, shares in words.shares.items()},
            "without": {name: _plain(log_probs) for name, log_probs in words.without.items()},
            "losses": None if words.losses is None else _plain(words.losses),
        },
        "places": {name: [at and [at.start, at.end] for at in spans] for name, spans in sentence.spans.items()},
        "ends": {name: sorted(special) for name, special in sentence.special.items()},
        "pe": sentence.pe,
        "pe_words": None if sentence.pe_words is None else list(sentence.pe_words),
        "step_weights": _plain(sentence.step_weights),
    }


def sentence_from_record(record: Mapping[str, Any]) -> ExplainedSentence:
    """Return the sentence of a record that `sentence_to_record` made; its evidence is rounded."""
    pe_words = record["pe_words"]
    return ExplainedSentence(
        src=record["src"],
        mt=record["mt"],
        output=record["output"],
        edits=tuple(map(_edit_from_record, record["edits"])),
        confidences=tuple(record["confidences"]),
        words=_evidence(record["words"]),
        spans={name: tuple(span and Span(*span) for span in spans) for name, spans in record["places"].items()},
        special={name: frozenset(positions) for name, positions in record["ends"].items()},
        pe=record["pe"],
        pe_words=None if pe_words is None else tuple(pe_words),
        step_weights=tuple(record["step_weights"]),
    )


def _edit_to_record(edit: Edit) -> dict[str, Any]:
    reasons = {"reasons": reasons_as_json(edit.reasons)} if edit.reasons else {}
    return {"op": edit.op, "mt_span": list(edit.mt_span), "pe_span": list(edit.pe_span), **reasons}


def _edit_from_record(record: Mapping[str, Any]) -> Edit:
    reasons = reasons_of_json(record.get("reasons", ()))
    return Edit(record["op"], tuple(record["mt_span"]), tuple(record["pe_span"]), reasons)


def _evidence(words: Mapping[str, Any]) -> Evidence:
    losses = words["losses"]
    return Evidence(
        streams={name: tuple(texts) for name, texts in words["streams"].items()},
        output=tuple(words["output"]),
        log_probs=tuple(words["log_probs"]),
        attention={AttentionKey(one["stream"], one["kind"]): np.array(one["weights"]) for one in words["attention"]},
        runners_up=tuple(tuple(Alternative(*one) for one in others) for others in words["runners_up"]),
        shares={name: np.array(shares) for name, shares in words["shares"].items()},
        without={name: tuple(log_probs) for name, log_probs in words["without"].items()},
        losses=None if losses is None else np.array(losses),
    )


def _plain(values: NDArray[np.floating] | tuple[float, ...] | list[float]) -> list[Any]:
    array = np.nan_to_num(np.asarray(values, dtype=np.float64), posinf=_INFINITY, neginf=-_INFINITY)
    plain: list[Any] = (np.round(array, _DECIMALS) + 0.0).tolist()
    return plain
