"""HTML page that says whether automatic post-editing pays: the answer, charts, and all tables."""

from collections.abc import Sequence
from html import escape
from typing import Final

from postedit.evaluate.assessment_tables import assessment_tables
from postedit.evaluate.gain import Gain
from postedit.evaluate.learning_curve import ROUGH
from postedit.evaluate.recommendation import ANSWERS, Assessment, EditorGain
from postedit.evaluate.significance import CONFIDENCE
from postedit.explain.charts import Curve, Ranged, Series, bar_chart, curve_chart, interval_chart
from postedit.explain.document import analysis, document

_SHORT: Final = ("word", "form", "missing", "extra", "order", "marks", "case", "number")
"""Short names of `ERROR_KINDS`, below the bars of a chart."""

_OPEN: Final = 2  # number of tables that are open at first: what each editor gains, and what that saves


def assessment_page(title: str, found: Assessment) -> str:
    """Return a self-contained HTML document about an assessment, with the heading `title`."""
    answer, _, reason = found.recommendation
    body = [
        f'<p class="answer {answer}">{ANSWERS[answer]}.</p>',
        f'<p class="conclusion">{escape(reason[:1].upper() + reason[1:])}.</p>',
        *(f'<p class="warning" role="note">{escape(one[:1].upper() + one[1:])}.</p>' for one in found.warnings),
        *(f"<p>{escape(one[:1].upper() + one[1:])}.</p>" for one in found.notes),
        _facts(found),
        _charts(found),
        *(analysis(table, is_open=number < _OPEN) for number, table in enumerate(assessment_tables(found))),
        *_notes(found),
    ]
    styles = ["page.css", "score_page.css", "assessment_page.css"]
    return document(title, body, styles=styles, scripts=[])


def _facts(found: Assessment) -> str:
    profile = found.profile
    share = 100.0 * profile.systematic / max(1, profile.changes)
    kept = 100.0 * profile.unchanged / profile.segments
    facts = [
        (f"{profile.segments:,}", "triplets assessed"),
        (f"{profile.ter:.1f}", f"TER: edits per 100 {found.unit} that the machine translation needs"),
        (f"{kept:.0f} %", "of the segments were left as they are"),
        (f"{share:.0f} %", "of the changes are systematic: elsewhere, the same words are changed in the same way"),
    ]
    items = "".join(f"<li><b>{number}</b>{escape(meaning)}</li>" for number, meaning in facts)
    return f'<ul class="facts">{items}</ul>'


def _charts(found: Assessment) -> str:
    gains = [(one.name, _ranged(one.gain(found.profile.ter))) for one in found.editors]
    kinds = found.profile.kinds
    edits = Series("edits", [one.edits for one in kinds], 1)
    charts = [
        interval_chart(f"Gain of each editor, with its {CONFIDENCE:.0%} interval", gains, "points of TER"),
        *_growth(found.editors, found.profile.ter),
        bar_chart("Edits of the post-editors, by kind", _SHORT, [edits], "edits"),
    ]
    heading = '<section aria-labelledby="charts"><h2 id="charts">At a glance</h2>'
    warning = f'<p class="note">{escape(ROUGH)}</p>' if found.has_rough_forecasts else ""
    return f'{heading}<div class="charts">{"".join(charts)}</div>{warning}</section>'


def _growth(editors: Sequence[EditorGain], ter: float) -> list[str]:
    curves = []
    for one in editors:
        forecasts = one.forecasts(ter)
        if forecasts:
            places = [len(one.sentences.words), *(expected.triplets for expected in forecasts)]
            gains = [one.gain(ter), *(expected.gain for expected in forecasts)]
            curves.append(Curve(one.name, places, list(map(_ranged, gains))))
    return [curve_chart("Expected gain with more triplets", curves, "points of TER", "triplets")] if curves else []


def _ranged(gain: Gain) -> Ranged:
    return Ranged(gain.points, gain.low, gain.high)


def _notes(found: Assessment) -> list[str]:
    notes = [
        "The intervals hold for text drawn like these triplets. They say nothing of other text, such as another "
        "product, another translation engine or another post-editor. The segments of one document are more alike than "
        "those of different documents: with triplets of few documents, intervals are too narrow.",
        f"How words are divided: {found.tokenizer}. TER: {found.signature}.",
    ]
    notes += [f"Left out: {count:,} with this reason: {reason}." for reason, count in found.left_out.items()]
    notes += [f"Not tried: {name}: {why}." for name, why in found.not_tried.items()]
    return ["<h2>Notes</h2>", *(f'<p class="note">{escape(note)}</p>' for note in notes)]
