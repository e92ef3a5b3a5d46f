"""What an editor is asked for, found to be sound before it sets to work."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from postedit.core.errors import DataError
from postedit.search import SearchSettings
from postedit.text.config import Side


@dataclass(frozen=True, slots=True)
class Wish:
    """What is demanded of one output: how it begins, and what it must have."""

    prefix: str = ""
    required: tuple[str, ...] = ()


def check_request(src: Iterable[str], mt: Iterable[str] | None, batch_tokens: int) -> dict[Side, list[str]]:
    """Return the texts of the sides that are given, once all of the request is found to be sound."""
    if isinstance(src, str) or isinstance(mt, str):
        raise DataError("src and mt are lists of segments, not single strings; write edit(src=[...], mt=[...])")
    texts: dict[Side, list[str]] = {"src": list(src)}
    if mt is not None:
        texts["mt"] = list(mt)
    for side, segments in texts.items():
        for number, segment in enumerate(segments, start=1):
            if not isinstance(segment, str):
                raise DataError(f"segment {number} of {side} is not text but {segment!r}")
    if len(texts["src"]) != len(texts.get("mt", texts["src"])):
        raise DataError(
            f"src has {len(texts['src'])} segments and mt has {len(texts['mt'])}; they must match one to one"
        )
    if batch_tokens < 1:
        raise DataError(f"batch_tokens must be at least 1, not {batch_tokens}")
    return texts


def check_wishes(count: int, prefix: Sequence[str] | None, required: Sequence[Sequence[str]] | None) -> list[Wish]:
    """Return what is demanded of each of `count` outputs, once that is found to be sound."""
    beginnings = [""] * count if prefix is None else prefix
    phrases: Sequence[Sequence[str]] = [()] * count if required is None else required
    for name, given in (("prefix", beginnings), ("required", phrases)):
        if isinstance(given, str) or len(given) != count:
            raise DataError(f"{name} must be a list with one entry for each of the {count} segments, not {given!r:.80}")
    for number, one in enumerate(phrases, start=1):
        if isinstance(one, str) or not all(isinstance(phrase, str) and phrase.strip() for phrase in one):
            raise DataError(f"segment {number}: required must be a list of words or phrases, not {one!r:.80}")
    return [Wish(text, tuple(one)) for text, one in zip(beginnings, phrases, strict=True)]


def check_outputs(outputs: Iterable[str], count: int) -> list[str]:
    """Return the outputs to score, one for each of `count` segments, once they are found to be sound."""
    if isinstance(outputs, str):
        raise DataError(
            "outputs are a list of texts, not a single string; write score(src=[...], mt=[...], outputs=[...])"
        )
    given = list(outputs)
    if len(given) != count:
        raise DataError(f"src has {count} segments and there are {len(given)} outputs; they must match one to one")
    for number, output in enumerate(given, start=1):
        if not isinstance(output, str):
            raise DataError(f"output {number} is not text but {output!r}")
    return given


def check_reverting(given: bool, search: SearchSettings, wishes: Sequence[Wish], least: float) -> None:
    """See to it that edits can be taken back.

    Args:
        given: whether mt is.
        search: how corrections are searched for.
        wishes: what is demanded of each of them.
        least: confidence that is asked for.

    Raises:
        DataError: if not.
    """
    if not given:
        raise DataError("a gate and a least confidence take edits of mt back: give mt, or leave them out")
    if search.n_best > 1:
        raise DataError(f"a gate and a least confidence decide on one correction a segment, not on {search.n_best}")
    if search.required or search.banned or any(wish.prefix or wish.required for wish in wishes):
        raise DataError(
            "a gate and a least confidence may take back a word that is required, or an edit that removed a banned "
            "one: leave out either them, or all that is required, banned, or given as the beginning"
        )
    if not 0.0 <= least <= 1.0:
        raise DataError(f"min_confidence must be a probability, from 0 to 1, not {least}")
