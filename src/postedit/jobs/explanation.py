"""Sentences explained by a model, many at a time: what it writes for them, or how it reads given outputs."""

from collections.abc import Callable, Iterator, Sequence

from postedit.editing.windows import Detail
from postedit.editor import PostEdit, PostEditor
from postedit.explain.reading import Reading, reading
from postedit.text.config import Side

WINDOW = 100
"""Sentences between two reports of progress."""


def explain(
    editor: PostEditor,
    src: Sequence[str],
    mt: Sequence[str] | None,
    pe: Sequence[str] | None = None,
    report: Callable[[int], None] = lambda done: None,
    *,
    detail: Detail = "reasons",
) -> list[Reading | None]:
    """Edit sentences and return each with its evidence; None for one that the model was not asked about.

    Args:
        editor: the model.
        src: sources.
        mt: their translations; None if the model needs none.
        pe: what humans made of these, if known.
        report: is told now and then how many sentences are done.
        detail: how much is asked of the model; with "losses", edits cite the words of src that they lose most without.

    Raises:
        DataError: as `PostEditor.edit`.
    """
    found: list[Reading | None] = []
    for rows in _windows(len(src)):
        edits = editor.edit(src[rows], None if mt is None else mt[rows], evidence=detail)
        found += _readings(editor, src[rows], None if mt is None else mt[rows], edits, None if pe is None else pe[rows])
        report(len(found))
    return found


def explain_mt(
    editor: PostEditor, src: Sequence[str], mt: Sequence[str], report: Callable[[int], None] = lambda done: None
) -> list[Reading | None]:
    """Return how the model reads each translation when it writes just that, by forced decoding.

    Raises:
        DataError: as `PostEditor.score`.
    """
    found: list[Reading | None] = []
    for rows in _windows(len(src)):
        edits = editor.score(src[rows], mt[rows], mt[rows], evidence="attention")
        found += _readings(editor, src[rows], mt[rows], edits, None)
        report(len(found))
    return found


def _windows(count: int) -> Iterator[slice]:
    return (slice(start, start + WINDOW) for start in range(0, count, WINDOW))


def _readings(
    editor: PostEditor,
    src: Sequence[str],
    mt: Sequence[str] | None,
    edits: Sequence[PostEdit],
    pe: Sequence[str] | None,
) -> Iterator[Reading | None]:
    for row, edit in enumerate(edits):
        if edit.evidence is None:
            yield None
            continue
        texts: dict[Side, str] = {"src": src[row]}
        texts["mt"] = (edit.draft or "") if mt is None else mt[row]
        human = None if pe is None else pe[row]
        yield reading(editor.processor, texts, edit.text, edit.edits, edit.confidences, edit.evidence, human)
