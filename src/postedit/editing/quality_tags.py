"""Word-level quality tags of translations, from files: words and gaps that may be edited, or are shown as wrong."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from postedit.core.config import Config
from postedit.core.editor import Edit, Editor, EditorWrapper
from postedit.core.errors import DataError
from postedit.text.glossary import Glossary


class TagFiles(Config):
    """Files of quality tags, shown to models whose prompt has the field {errors}."""

    tags: str = Field(
        "",
        description="file of OK and BAD for gaps and words of mt, shown by prompts with {errors}; needs hints.tagged",
    )
    tagged: str = Field("", description="file of the mt lines that hints.tags is about")

    @model_validator(mode="after")
    def _check_both(self) -> Self:
        if bool(self.tags) != bool(self.tagged):
            raise ValueError("tags and tagged name the two files of quality tags: give both, or neither")
        return self

    def read(self) -> "QualityTags | None":
        """Return the tags; None if no files are given.

        Raises:
            DataError: if the files cannot be read, or do not match.
        """
        return QualityTags(Path(self.tags), Path(self.tagged)) if self.tags else None


class QualityTags:
    """The tags (OK or BAD) of the gaps and words of translations, by the text of the translation.

    Raises:
        DataError: if a file cannot be read, or a line of tags does not match its translation.
    """

    def __init__(self, tags: Path, tagged: Path) -> None:
        from postedit.data.lines import read_aligned
        from postedit.evaluate.tags import parse_tags

        texts = read_aligned(tagged, tags)
        self._tags: dict[str, list[bool]] = {}
        for number, (mt, line) in enumerate(zip(texts[tagged], texts[tags], strict=True), start=1):
            found = parse_tags(line, len(mt.split()), f"{tags}, line {number}")
            known = self._tags.setdefault(mt, found)
            # If two sources have the same translation, what is BAD for one of them counts as BAD.
            self._tags[mt] = [one or other for one, other in zip(known, found, strict=True)]

    @property
    def fingerprint(self) -> str:
        """A digest of all tags."""
        return hashlib.sha256(repr(sorted(self._tags.items())).encode()).hexdigest()[:16]

    def of(self, mt: str) -> list[bool] | None:
        """Return the 2n + 1 tags of a translation of n words (gap, word, gap, ...), True for BAD; None if untagged."""
        return self._tags.get(mt)

    def allow(self, mt: str, spans: Sequence[tuple[int, int]], text: str, edits: Sequence[Edit]) -> list[bool]:
        """Return, for each edit, whether it concerns a BAD word or gap; all True if mt is untagged.

        `spans` are the character spans of the words of mt. The gaps on both sides of the words of an edit count too if
        the edit writes more words in `text` than it replaces.
        """
        bad = self._tags.get(mt)
        if bad is None:
            return [True] * len(edits)
        return [any(bad[place] for place in _places(edit, spans, text)) for edit in edits]


def _places(edit: Edit, spans: Sequence[tuple[int, int]], text: str) -> list[int]:
    """Return the indices of the tags that an edit concerns: words and gaps, or a single gap for an insertion."""
    start, end = edit.mt_span
    words = [number for number, span in enumerate(spans) if span[0] < end and start < span[1]]
    if words:
        more = len(text[slice(*edit.pe_span)].split()) > len(words)
        return list(range(2 * words[0] + 1 - more, 2 * words[-1] + 2 + more))
    return [2 * sum(span[1] <= start for span in spans)]


def show_hints(editor: Editor, glossary: Glossary | None, tags: QualityTags | None) -> None:
    """Let the prompt of an editor's model show terms and tagged errors, if the prompt has fields for them.

    An editor of one's own that declares hints gets none.

    Raises:
        DataError: if tags are given, but the model has no prompt that shows them.
    """
    names = editor.abilities.hints
    if not names and tags is None:
        return
    from postedit.editing.post_editor import PostEditor

    while isinstance(editor, EditorWrapper):
        editor = editor.inner
    model = editor if isinstance(editor, PostEditor) else None
    if tags is not None and (model is None or "errors" not in names):
        raise DataError("hints.tags is for models whose prompt shows errors ({errors}): leave it out")
    if model is not None and names:
        model.hints = replace(model.hints, glossary=glossary if "glossary" in names else None, tags=tags)
