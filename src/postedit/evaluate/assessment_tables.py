"""The tables of an assessment, for the command line and the assessment page."""

from postedit.evaluate.error_profile import RepeatedChange
from postedit.evaluate.learning_curve import ROUGH
from postedit.evaluate.recommendation import Assessment, costs
from postedit.evaluate.significance import CONFIDENCE
from postedit.evaluate.table import Column, Table, TableRow, columns, percentage

_INTERVAL = f"{CONFIDENCE:.0%} interval"


def assessment_tables(found: Assessment) -> list[Table]:
    """Return all tables: gains, savings, forecasts, and analyses of the errors."""
    tables = [gains(found), savings(found), forecasts(found), kinds(found), repetition(found)]
    if found.profile.frequent:
        tables.append(_repeated("corrections made most often", found.profile.frequent))
    if found.profile.terms:
        tables.append(_repeated("terms", found.profile.terms, with_source=True))
    return tables


def gains(found: Assessment) -> Table:
    """Return the gain of each editor, with its interval."""
    ter = found.profile.ter
    rows = []
    for one in found.editors:
        gain = one.gain(ter)
        shares = (percentage(points, ter) for points in gain)
        counts = (int(one.sentences.changed.sum()), one.better, one.worse)
        rows.append(TableRow((one.name, one.how), (*gain, *shares, *counts)))
    names = columns(["gain, TER", "from", "to"], 2) + columns(["edits saved %", "from %", "to %"], 1)
    note = (
        f"TER of the unedited MT, {ter:.2f}, less that of the editor; edits saved, in per cent of those that the "
        f"unedited MT needs. From, to: {_INTERVAL} of the gain on all such text. Changed, better, worse: of "
        f"{found.profile.segments:,} segments. Cross-validated: trained on nine tenths of the triplets, and tried on "
        "the others."
    )
    return Table(
        "what each editor gains",
        ("editor", "how"),
        (*names, *columns(["changed", "better", "worse"])),
        tuple(rows),
        note,
    )


def savings(found: Assessment) -> Table:
    """Return the hours, and if an hour has a price the money, that each editor saves, and what the editor costs."""
    work, rows = found.work, []
    for one in found.editors:
        hours = work.saved(one.gain(found.profile.ter), found.profile.ter).hours
        money = () if work.hour_price is None else tuple(work.hour_price * value for value in hours)
        rows.append(
            TableRow((one.name,), (*hours, *money, costs(one, work), one.training_seconds, one.editing_seconds))
        )
    names = ["hours saved", "from h", "to h"]
    names += [] if work.hour_price is None else ["money saved", "from money", "to money"]
    currencies = sorted({one.currency for one in found.editors if one.currency})
    cost = f"cost ({', '.join(currencies)})" if currencies else "cost"
    unit = found.unit
    note = (
        f"Of {work.words:,} {unit}, which take {work.hours:,.0f} hours at {work.words_per_hour:,.0f} {unit} an hour; "
        f"{work.editing_share:.0%} of them go into edits, the rest into reading, which nothing saves. Cost: of the "
        f"machine or the endpoint, for all these {unit}. Seconds: of one training on these "
        f"{found.profile.segments:,} triplets, and of editing them here. A dash: not known."
    )
    shown = (*columns(names, 1), Column(cost, 2), *columns(["seconds to train", "to edit"], 1))
    return Table("what that saves and costs", ("editor",), shown, tuple(rows), note)


def forecasts(found: Assessment) -> Table:
    """Return the gains that learning editors are expected to have with more triplets."""
    ter, rows = found.profile.ter, []
    for one in found.editors:
        for expected in one.forecasts(ter):
            shares = (percentage(points, ter) for points in expected.gain)
            hours = found.work.saved(expected.gain, ter).hours
            size = f"{expected.number}{' (rough)' * expected.is_rough}"
            rows.append(TableRow((one.name, size), (*expected.gain, *shares, *hours)))
    names = columns(["gain, TER", "from", "to"], 2)
    names += columns(["edits saved %", "from %", "to %", "hours saved", "from h", "to h"], 1)
    note = (
        "What the editors that were trained here are expected to gain with so many triplets of the same kind of text. "
        "A few hundred triplets say little about how fast a gain grows, so that it is taken from public data sets for "
        "the most part, and the intervals are wide."
    )
    note += f" {ROUGH}" * found.has_rough_forecasts
    return Table("what more triplets would bring", ("editor", "triplets"), names, tuple(rows), note)


def kinds(found: Assessment) -> Table:
    """Return the number of edits of each kind of error."""
    profile = found.profile
    rows = tuple(
        TableRow(
            (one.kind,), (one.edits, percentage(one.edits, profile.edits), percentage(one.segments, profile.segments))
        )
        for one in profile.kinds
    )
    shown = (Column("edits"), *columns(["% of edits", "% of segments"], 1))
    note = f"Edits of TER, {profile.edits:,} in all; % of segments: those that need one of the kind."
    return Table("kinds of errors", ("kind",), shown, rows, note)


def repetition(found: Assessment) -> Table:
    """Return how many errors are repeated in other segments, and how many of those are systematic."""
    profile = found.profile
    counts = {
        "all": profile.changes,
        "made in other segments too": profile.repeated,
        "of those, systematic": profile.systematic,
    }
    rows = tuple(TableRow((name,), (count, percentage(count, profile.changes))) for name, count in counts.items())
    note = (
        "Stretches of mt that were changed. Systematic: the same words were changed in the same way in at least half "
        "of the places where mt has them. Only what is systematic can be learnt from so few triplets."
    )
    return Table("repetition", ("changes",), (Column("number"), Column("%", 1)), rows, note)


def _repeated(name: str, changes: tuple[RepeatedChange, ...], *, with_source: bool = False) -> Table:
    keys = ("mt", "pe", "source") if with_source else ("mt", "pe")
    rows = tuple(
        TableRow((one.old, one.new or "∅", one.source)[: len(keys)], (one.times, one.places)) for one in changes
    )
    note = "Times: how often it was made; places: how often mt has these words."
    if with_source:
        note = f"Corrections of words that have the same rare word in their sources. {note}"
    return Table(name, keys, columns(["times", "places"]), rows, note)
