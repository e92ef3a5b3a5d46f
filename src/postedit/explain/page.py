"""One HTML page about what a model did: scores, word differences, and attention that answers to the pointer.

The page is a single file that needs no network and no server. Everything on it that comes from data is
escaped, and a content security policy keeps the browser from fetching anything at all, or running any other script.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from postedit.core.symbols import SYMBOLS
from postedit.evaluate.scores import DO_NOTHING, SystemScores
from postedit.evaluate.ter import count_edits
from postedit.explain.differences import differences_html, word_differences
from postedit.explain.document import document
from postedit.explain.evidence import Evidence
from postedit.explain.heatmap import heat_map

_STREAMS: Final = {"src": "source", "mt": "machine translation"}
_KINDS: Final = {"soft": "Attention over", "copy": "Copying from", "hard": "Position in"}
_UNSURE: Final = 0.5  # below this probability the model would rather not have written the word: it is marked


@dataclass(frozen=True, eq=False, slots=True)
class PageExample:
    """One sentence of the page.

    Args:
        src: the source.
        mt: the machine translation.
        output: what the model made of it.
        pe: what a human made of it, if known.
        evidence: of the output, over words.
    """

    src: str
    mt: str
    output: str
    pe: str | None
    evidence: Evidence


def attention_page(title: str, examples: Sequence[PageExample], summary: Sequence[SystemScores]) -> str:
    """Return a self-contained HTML document.

    Args:
        title: heading of the page.
        examples: the sentences, in the order they are shown.
        summary: scores of the systems, do-nothing first; may be empty.
    """
    kinds = list(dict.fromkeys(key.kind for example in examples for key in example.evidence.attention))
    body = [
        _summary(summary),
        _guide(kinds),
        *(_example(number, example) for number, example in enumerate(examples, start=1)),
    ]
    return document(title, body, styles=["page.css"], scripts=["page.js"])


def _summary(summary: Sequence[SystemScores]) -> str:
    if not summary:
        return ""
    base = summary[0] if summary[0].name == DO_NOTHING else None
    rows = "".join(_score_row(scores, base) for scores in summary)
    signatures = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in _signatures(summary))
    return f"""<section aria-labelledby="scores"><h2 id="scores">Scores</h2>
<div class="scroll" tabindex="0" role="region" aria-labelledby="scores"><table>
<caption>{summary[0].lines:,} sentences against their human post-edits. TER: lower is better; BLEU and chrF: higher is
better.</caption>
<thead><tr><th scope="col">System</th><th scope="col">TER</th><th scope="col">BLEU</th><th scope="col">chrF</th>
<th scope="col">changed</th><th scope="col">better</th><th scope="col">worse</th><th scope="col">same</th></tr></thead>
<tbody>{rows}</tbody></table></div>
<details><summary>Signatures of the scores</summary><dl class="signatures">{signatures}</dl></details></section>"""


def _signatures(summary: Sequence[SystemScores]) -> list[tuple[str, str]]:
    return list(dict.fromkeys(item for scores in summary for item in scores.signatures.items()))


def _score_row(scores: SystemScores, base: SystemScores | None) -> str:
    cells = [f'<th scope="row">{escape(scores.name)}</th>']
    for name, sign in (("ter", -1), ("bleu", 1), ("chrf", 1)):
        value = getattr(scores, name)
        cells.append(f"<td>{value:.2f}{_gain(value - getattr(base, name), sign) if base else ''}</td>")
    changes = scores.changes
    counts = ["–"] * 4 if changes is None else [changes.changed, changes.better, changes.worse, changes.same]
    cells.extend(f"<td>{count}</td>" for count in counts)
    return f"<tr>{''.join(cells)}</tr>"


def _gain(difference: float, sign: int) -> str:
    if round(difference, 2) == 0:
        return ""
    number = f"{difference:+.2f}".replace("-", "−")
    return f' <small class="{"good" if difference * sign > 0 else "bad"}">{number}</small>'


def _guide(kinds: Sequence[str]) -> str:
    choice = ""
    if len(kinds) > 1:
        buttons = "".join(
            f'<label><input type="radio" name="kind" value="{escape(kind)}"{" checked" if kind == kinds[0] else ""}> '
            f"{escape(_KINDS.get(kind, kind).split()[0].lower())}</label>"
            for kind in kinds
        )
        choice = f'<fieldset class="kinds"><legend>Show</legend>{buttons}</fieldset>'
    return f"""<section aria-labelledby="sentences"><h2 id="sentences">Sentences</h2>
<p class="guide">Point at a word of the output to light the words of the <span class="key src">source</span> and of the
<span class="key mt">machine translation</span> that the model looked at, the stronger the more. Click to keep it lit.
With the keyboard: Tab to an output, then the arrow keys. <span class="unsure">Dotted</span> words were written with a
probability below {_UNSURE:.0%}.</p>
{choice}</section>"""


def _example(number: int, example: PageExample) -> str:
    evidence = example.evidence
    texts = [
        ("Source", _input_line("src", example.src, evidence)),
        ("Machine translation", _input_line("mt", example.mt, evidence)),
        ("Output", _output_line(number, evidence)),
        ("Post-edit", _plain_line(example.pe)),
        ("What the model changed", _difference_line(example.mt, example.output, "Nothing.")),
        ("From output to post-edit", _difference_line(example.output, example.pe, "The same words.")),
    ]
    lines = "".join(f"<dt>{label}</dt>{line}" for label, line in texts if line)
    maps = "".join(_heat_map_details(panel, evidence) for panel in _panels(evidence))
    return f"""<article aria-labelledby="s{number}"><h3 id="s{number}">{number} {_verdict(example)}</h3>
<dl class="texts">{lines}</dl>
{maps}<script type="application/json">{_data(evidence)}</script></article>"""


def _verdict(example: PageExample) -> str:
    if example.pe is None:
        return ""
    before, after = count_edits([example.mt, example.output], [example.pe, example.pe])
    remaining = f"{_edits(after.edits)} from the post-edit"
    if example.output == example.mt:
        return f'<span class="verdict">unchanged</span> <small>{remaining}</small>'
    word = "better" if after.edits < before.edits else "worse" if after.edits > before.edits else "as far"
    style = word.replace(" ", "-")
    return f'<span class="verdict {style}">{word}</span> <small>{remaining}, {before.edits} before</small>'


def _edits(count: int) -> str:
    return "1 edit" if count == 1 else f"{count} edits"


def _input_line(stream: str, text: str, evidence: Evidence) -> str:
    if stream not in evidence.streams:
        return _plain_line(text)
    words = " ".join(f'<span class="w{_end_class(word)}">{escape(word)}</span>' for word in evidence.streams[stream])
    return f'<dd dir="auto" data-stream="{escape(stream)}">{words}</dd>'


def _output_line(number: int, evidence: Evidence) -> str:
    buttons = []
    for position, (word, log_prob) in enumerate(zip(evidence.output, evidence.log_probs, strict=True)):
        style = f"w{_end_class(word)}{' unsure' if math.exp(log_prob) < _UNSURE else ''}"
        tab = 0 if position == 0 else -1  # one stop for the Tab key; the arrow keys go from word to word
        buttons.append(f'<button type="button" class="{style}" tabindex="{tab}">{escape(word)}</button>')
    label = f"Output of sentence {number}, word by word"
    toolbar = f'<div dir="auto" class="output" role="toolbar" aria-label="{label}">{" ".join(buttons)}</div>'
    return f'<dd>{toolbar}<p class="reading" aria-live="polite"></p></dd>'


def _plain_line(text: str | None) -> str:
    return "" if text is None else f'<dd dir="auto">{escape(text)}</dd>'


def _difference_line(before: str, after: str | None, same: str) -> str:
    if after is None:
        return ""
    script = word_differences(before.split(), after.split())
    if all(run.op == "equal" for run in script):
        return f'<dd class="none">{same}</dd>'
    return f'<dd dir="auto" class="diff">{differences_html(script)}</dd>'


class _Panel(NamedTuple):
    """The attention Float[K,S] under a key to one of its streams."""

    stream: str
    kind: str
    weights: NDArray[np.floating]

    @property
    def stream_name(self) -> str:
        return _STREAMS.get(self.stream, self.stream)


def _panels(evidence: Evidence) -> list[_Panel]:
    """Return all attention, to the source first, whatever order the model has."""
    order = list(_STREAMS)
    panels = [
        _Panel(stream, key.kind, weights)
        for key in evidence.attention
        for stream, weights in evidence.by_stream(key).items()
    ]
    return sorted(panels, key=lambda panel: order.index(panel.stream) if panel.stream in order else len(order))


def _end_class(word: str) -> str:
    return " end" if word in SYMBOLS else ""  # an end, a step: nothing that is part of the text


def _heat_map_details(panel: _Panel, evidence: Evidence) -> str:
    name = f"{_KINDS.get(panel.kind, panel.kind)} the {panel.stream_name}"
    label = f"{name}: a row for each output word, a column for each input word"
    drawing = heat_map(evidence.output, evidence.streams[panel.stream], panel.weights, label)
    return (
        f'<details class="{escape(panel.stream)}"><summary>{escape(name)}</summary>'
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(name)}">{drawing}</div></details>\n'
    )


def _data(evidence: Evidence) -> str:
    values = {
        "probabilities": [round(math.exp(log_prob), 4) for log_prob in evidence.log_probs],
        "attention": [
            {
                "stream": panel.stream,
                "name": panel.stream_name,
                "kind": panel.kind,
                "weights": [[round(float(weight), 3) for weight in row] for row in panel.weights],
            }
            for panel in _panels(evidence)
        ],
    }
    return json.dumps(values, separators=(",", ":")).replace("<", "\\u003c")
