"""Signs that the columns of triplets are swapped, shifted, or otherwise wrong."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from postedit.core.scripts import letters_by_script
from postedit.text.languages import SAMPLE, ranked_languages

_CLEAR: Final = 20.0
"""Nats by which the most probable language must exceed the next one."""

_SAME_SCRIPT: Final = 0.5
"""Share of letters in common scripts from which two texts are in the same script: names may be in Latin letters."""

_UNRELATED: Final = 80.0
"""TER of unedited MT above which pe is hardly a correction of mt: the worst MT of the public sets has 69 (Nepali to
English), and lines that are shifted by one have over 100."""


def column_signs(src: Sequence[str], mt: Sequence[str], pe: Sequence[str], *, ter: float) -> list[str]:
    """Return what should be checked in triplets, one sentence for each sign; none if all seems well.

    Args:
        src: the sources.
        mt: their machine translations.
        pe: their post-edits.
        ter: TER of mt, with pe as the reference.
    """
    languages = [_language(side) for side in (src, mt, pe)]
    if apart := _swapped(*languages) or _other_script(mt, pe):
        return [apart]  # so a high TER has this cause
    signs = [_one_language(*languages)]
    if ter > _UNRELATED:
        signs.append(
            f"the unedited MT has a TER of {ter:.0f}, as if pe did not correct mt: check that each line of the "
            "files belongs to the same segment"
        )
    return list(filter(None, signs))


def _swapped(of_src: str | None, of_mt: str | None, of_pe: str | None) -> str:
    """Return why the languages of mt and pe suggest that columns are swapped; "" if they do not."""
    if None in (of_src, of_mt, of_pe):
        return ""
    if of_src == of_pe != of_mt:
        languages = f"src and pe read as one language ({of_src}), and mt as another ({of_mt})"
        return f"{languages}: check whether src and mt are swapped"
    if of_src == of_mt != of_pe:
        languages = f"src and mt read as one language ({of_src}), and pe as another ({of_pe})"
        return f"{languages}: check whether src and pe are swapped, or mt was not translated"
    return ""


def _one_language(of_src: str | None, of_mt: str | None, of_pe: str | None) -> str:
    if of_src is None or not of_src == of_mt == of_pe:
        return ""
    return f"src, mt and pe read as one language ({of_src}): check that src is the source"


def _language(texts: Sequence[str]) -> str | None:
    """Return the code of the language of texts; None if it is not clear."""
    (first, score), (_, next_score) = ranked_languages(texts)[:2]
    return first if score > next_score + _CLEAR else None


def _other_script(mt: Sequence[str], pe: Sequence[str]) -> str:
    of_mt, of_pe = _scripts(mt), _scripts(pe)
    if not (of_mt and of_pe):
        return ""
    shared = sum(min(of_mt[name] / of_mt.total(), of_pe[name] / of_pe.total()) for name in of_mt)
    if shared >= _SAME_SCRIPT:
        return ""
    names = [counts.most_common(1)[0][0] for counts in (of_mt, of_pe)]
    return f"mt and pe are in different scripts ({names[0]}, {names[1]}): check that pe corrects mt"


def _scripts(texts: Sequence[str]) -> Counter[str]:
    """Return the number of letters in each script, by a readable name of the script."""
    counts = Counter[str]()
    for name, count in letters_by_script(texts[:SAMPLE]).items():
        counts["Chinese and Japanese" if name in ("CJK", "HIRAGANA", "KATAKANA") else name.capitalize()] += count
    return counts
