"""HTML page that explains outputs: what the model looked at for each word, how sure it was, and why it made each edit.

The page holds the sentences as JSON. Its script shows them page by page, and inserts texts only through `textContent`.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, Final

import numpy as np

from postedit.evaluate.analyses import verdict
from postedit.evaluate.metrics import AdditiveTER
from postedit.evaluate.scores import UNEDITED_MT
from postedit.evaluate.significance import compare
from postedit.evaluate.table import Table
from postedit.evaluate.ter import count_edits
from postedit.evaluate.tokenisation import Tokenize, tokenisation_signs
from postedit.explain.attention_views import STREAM_NAMES, AttentionPanel, attention_panels
from postedit.explain.document import analysis, asset, data_element, document
from postedit.explain.explained_sentence import OUTPUT, ExplainedSentence, Span
from postedit.explain.reasons import Reason, edit_reasons, style_corrections

_LEAST: Final = 0.01  # runners-up that are less probable are left out, which keeps the page small


def explanation_page(
    title: str,
    sentences: Sequence[ExplainedSentence | None],
    tables: Sequence[Table] = (),
    verdicts: Sequence[str] | None = None,
    corrections: Mapping[tuple[str, str], int] | None = None,
) -> str:
    """Return a self-contained HTML document that explains outputs.

    Args:
        title: heading of the page.
        sentences: sentences in order; None for one that the model did not edit.
        tables: analyses of all sentences.
        verdicts: sentences that say whether the outputs are better than mt; None: one is written from the post-edits.
        corrections: how often each (old, new) pair was corrected in the training data; see `count_corrections`.
    """
    known = [one for one in sentences if one is not None]
    tokenize = _tokenize([one.pe for one in known if one.pe is not None])
    if verdicts is None:
        verdicts = [_verdict(known, tokenize)]
    data = [
        _sentence(line, one, corrections or {}, tokenize)
        for line, one in enumerate(sentences, start=1)
        if one is not None
    ]
    body = [
        *(f'<p class="conclusion">{escape(verdict)}</p>' for verdict in verdicts),
        *(analysis(table, is_open=number == 0) for number, table in enumerate(tables)),
        asset("explanation_page.html"),
        data_element(data),
    ]
    scripts = ["paging.js", "differences.js", "explanation_page.js"]
    return document(title, body, styles=["page.css", "explanation_page.css"], scripts=scripts)


def _tokenize(pe: Sequence[str]) -> Tokenize:
    """Return how words are separated in post-edits, so that edits are counted as the texts are written."""
    signs = tokenisation_signs(pe)
    if signs.unsegmented:
        return "characters"
    return "13a" if signs.form == "running text" else "none"


def _verdict(sentences: Sequence[ExplainedSentence], tokenize: Tokenize) -> str:
    """Return a sentence that says whether the outputs are better than mt, judged by those post-edits that are known."""
    changed = sum(bool(one.edits) for one in sentences)
    made = f"The model changed {changed:,} of {len(sentences):,} sentences"
    judged = [one for one in sentences if one.pe is not None and one.mt]
    if not judged:
        return f"{made}; whether they became better only post-edits can tell (option --pe)."
    pe = [one.pe or "" for one in judged]
    sides = [one.mt for one in judged], [one.output for one in judged]
    before, after = (count_edits(texts, pe, tokenize) for texts in sides)
    sums = [np.array([(one.edits, one.length) for one in counts], np.float64) for counts in (after, before)]
    metric = AdditiveTER(tokenize)
    found = compare(sums, metric.loss).comparisons[0]
    values = (found.difference, found.interval.low, found.interval.high, found.randomisation)
    better, worse = (int((sign * (sums[1] - sums[0])[:, 0] > 0).sum()) for sign in (1, -1))
    return f"{verdict('The output', UNEDITED_MT, values, len(judged), better, worse)} {metric.signature}"


def _sentence(
    line: int, sentence: ExplainedSentence, corrections: Mapping[tuple[str, str], int], tokenize: Tokenize
) -> dict[str, Any]:
    words = sentence.named_words()
    texts = {"src": sentence.src, "mt": sentence.mt}
    return {
        "line": line,
        **texts,
        "pe": sentence.pe,
        "left": _edits_left(tokenize, sentence.pe, sentence.mt, sentence.output),
        "inputs": [
            {
                "stream": side,
                "name": STREAM_NAMES[side].capitalize(),
                **_words(texts[side], words.streams[side], sentence.spans[side], sentence.special[side]),
            }
            for side in STREAM_NAMES
            if side in words.streams
        ],
        "plain": [
            [STREAM_NAMES[side].capitalize(), side]
            for side in STREAM_NAMES
            if texts[side] and side not in words.streams
        ],
        "output": _words(sentence.output, words.output, sentence.spans[OUTPUT], sentence.special[OUTPUT]),
        "probabilities": [round(100 * math.exp(min(0.0, log_prob))) for log_prob in words.log_probs],
        "runners": [
            [[one.text, round(100 * math.exp(one.log_prob))] for one in others if one.log_prob >= math.log(_LEAST)]
            for others in words.runners_up
        ],
        "shares": {name: np.rint(100 * share).astype(int).tolist() for name, share in words.shares.items()},
        "attention": [_attention(panel) for panel in attention_panels(words)],
        "changes": list(_runs(sentence)),
        "reasons": [_reason(sentence, reason, corrections) for reason in edit_reasons(line, sentence)],
    }


def _edits_left(tokenize: Tokenize, pe: str | None, *texts: str) -> list[int] | None:
    return None if pe is None else [one.edits for one in count_edits(texts, [pe] * len(texts), tokenize)]


def _words(text: str, words: Sequence[str], places: Sequence[Span | None], ends: frozenset[int]) -> dict[str, Any]:
    """Return the parts of a text (alternately a gap and the word after it), and the positions of EOS and STEP words."""
    parts, done = [], 0
    for word, place in zip(words, places, strict=True):
        if place is None:
            parts += [" ", word]
            continue
        parts += [text[done : place.start], word]
        done = place.end
    return {"parts": parts, "ends": sorted(ends)}


def _attention(panel: AttentionPanel) -> dict[str, Any]:
    """Return a panel with its weights in per cent; each row lists column, weight, column, weight, without zeros."""
    percent = np.rint(100 * np.asarray(panel.weights, dtype=np.float64)).astype(int)
    rows = [[value for column in np.flatnonzero(row) for value in (int(column), int(row[column]))] for row in percent]
    return {"stream": panel.stream, "kind": panel.kind, "name": panel.title, "rows": rows}


def _runs(sentence: ExplainedSentence) -> Iterator[list[str]]:
    """Yield the kept, deleted and inserted stretches of characters, each after its tag: "", "del" or "ins"."""
    done = 0
    for edit in sentence.edits:
        for tag, text in (
            ("", sentence.mt[done : edit.mt_span[0]]),
            ("del", sentence.mt[slice(*edit.mt_span)]),
            ("ins", sentence.output[slice(*edit.pe_span)]),
        ):
            if text:
                yield [tag, text]
        done = edit.mt_span[1]
    if sentence.mt[done:]:
        yield ["", sentence.mt[done:]]


def _reason(sentence: ExplainedSentence, reason: Reason, corrections: Mapping[tuple[str, str], int]) -> dict[str, Any]:
    cited = [
        [side, STREAM_NAMES[side], text[found.span.start : found.span.end]]
        for side, text, found in (("src", sentence.src, reason.src), ("mt", sentence.mt, reason.mt))
        if found is not None and found.stands_out
    ]
    return {
        "old": reason.old.strip(),
        "new": reason.new.strip(),
        "confidence": None if reason.confidence is None else round(100 * reason.confidence),
        "cited": cited,
        "style": style_corrections(reason, corrections),
        "why": reason.texts,
    }
