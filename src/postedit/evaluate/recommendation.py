"""Whether post-editing by machine is worth it for a customer: what editors gain, what that saves, and the answer."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from numbers import Integral, Real
from typing import Any, Final, Literal, NamedTuple

from postedit.core.errors import DataError
from postedit.evaluate.error_profile import ErrorProfile
from postedit.evaluate.gain import Gain, SentenceGains
from postedit.evaluate.learning_curve import ROUGH, Forecast, forecast
from postedit.evaluate.significance import CONFIDENCE
from postedit.evaluate.table import percentage

FORMAT: Final = 1
"""Version of the form of JSON."""

_HOPEFUL: Final = 0.8
"""Confidence of the interval of a forecast that must be above 0 to collect more triplets: 9 times in 10 they bring a
gain."""

Answer = Literal["yes", "all", "later", "no"]
"""Whether an editor at hand is worth it; "all": if it is trained on all triplets at hand, of which some were assessed;
"later": not yet, but with more triplets than there are."""

ANSWERS: Final[Mapping[Answer, str]] = {
    "yes": "Yes",
    "all": "Probably, if you train on all your triplets",
    "later": "Not yet, but with more triplets",
    "no": "No",
}


@dataclass(frozen=True, slots=True)
class Workload:
    """The work of a customer, and its prices.

    Args:
        words: of mt to post-edit; characters, where texts are divided into those.
        words_per_hour: of a post-editor, without an editor; likewise.
        editing_share: share of that time that goes into edits; the rest is for reading, which nothing saves.
        hour_price: of a post-editor; None: not known.
        machine_price: of an hour of the machine.
        least_share: of the edits that an editor must spare to be worth the trouble.

    Raises:
        DataError: if a number is none, or out of range.
    """

    words: int = 100_000
    words_per_hour: float = 600.0
    editing_share: float = 0.5
    hour_price: float | None = None
    machine_price: float = 0.0
    least_share: float = 0.02

    def __post_init__(self) -> None:
        for name in (one.name for one in fields(self)):
            value = getattr(self, name)
            if not isinstance(value, Real) and not (value is None and name == "hour_price"):
                raise DataError(f"{name} must be a number, not {value!r:.80}")
            if value is not None:  # numbers of NumPy become those of Python, which JSON can have
                object.__setattr__(self, name, int(value) if isinstance(value, Integral) else float(value))
        above = {"words": self.words, "words_per_hour": self.words_per_hour}
        shares = {"editing_share": self.editing_share, "least_share": self.least_share}
        prices = {"hour_price": self.hour_price or 0.0, "machine_price": self.machine_price}
        wrong = next((name for name, value in {**above, **prices}.items() if math.isinf(value)), None)
        if wrong is not None:
            raise DataError(f"{wrong} must be a finite number")
        wrong = next((name for name, value in above.items() if not value > 0), None)
        if wrong is not None:
            raise DataError(f"{wrong} must be above 0, not {above[wrong]:g}")
        wrong = next((name for name, value in shares.items() if not 0.0 <= value <= 1.0), None)
        if wrong is not None:
            raise DataError(f"{wrong} is a share, from 0 to 1, not {shares[wrong]:g}")
        wrong = next((name for name, value in prices.items() if not value >= 0.0), None)
        if wrong is not None:
            raise DataError(f"{wrong} must not be below 0, but is {prices[wrong]:g}")

    @property
    def hours(self) -> float:
        """Hours of post-editing without an editor."""
        return self.words / self.words_per_hour

    def saved(self, gain: Gain, ter: float) -> "Savings":
        """Return what a gain saves, where the unedited MT has this TER: edits, and hours in proportion to them."""
        per_point = self.hours * self.editing_share / ter if ter else 0.0
        return Savings(
            Gain(*(self.words * points / 100.0 for points in gain)), Gain(*(per_point * points for points in gain))
        )


class Savings(NamedTuple):
    """Edits and hours that are saved; below 0, those that are added."""

    edits: Gain
    hours: Gain


@dataclass(frozen=True, slots=True)
class EditorGain:
    """What an editor gains.

    Args:
        name: of the editor.
        how: what was measured.
        sentences: what it gains in each sentence.
        half: the same, trained on half as many triplets; None if its gain with more is not forecast.
        training_seconds: of one training on nearly all triplets.
        editing_seconds: of editing all of them; None: not known, as some answers of an endpoint were known before.
        cost: of editing all of them with a model behind an endpoint; None: not known, or it has no price.
        currency: of the cost.
        available: triplets at hand, if those that were assessed are only some of them.
    """

    name: str
    how: str
    sentences: SentenceGains
    half: SentenceGains | None = None
    training_seconds: float = 0.0
    editing_seconds: float | None = 0.0
    cost: float | None = None
    currency: str = ""
    available: int = 0

    @property
    def better(self) -> int:
        """Sentences that it brings nearer to pe."""
        return int((self.sentences.spared > 0).sum())

    @property
    def worse(self) -> int:
        """Sentences that it takes farther from pe."""
        return int((self.sentences.spared < 0).sum())

    def gain(self, ter: float, confidence: float = CONFIDENCE) -> Gain:
        """Return the gain with its interval, where the unedited MT has this TER: no more edits can be spared."""
        return self.sentences.gain(confidence).at_most(ter)

    def forecasts(self, ter: float, confidence: float = CONFIDENCE) -> list[Forecast]:
        """Return what it is expected to gain with more triplets; nothing for one without `half`."""
        if self.half is None:
            return []
        return forecast(self.sentences, self.half, ter, confidence, self.available)

    def to_dict(self, work: Workload, ter: float) -> dict[str, Any]:
        """Return plain values for JSON."""
        gain = self.gain(ter)
        return {
            "name": self.name,
            "how": self.how,
            "gain": gain._asdict(),
            "share of edits": _shares(gain, ter)._asdict(),
            "changed": int(self.sentences.changed.sum()),
            "better": self.better,
            "worse": self.worse,
            "saved": {name: one._asdict() for name, one in work.saved(gain, ter)._asdict().items()},
            "seconds of training": self.training_seconds,
            "seconds of editing": self.editing_seconds,
            "cost": self.cost,
            "currency": self.currency,
            "costs of the work": costs(self, work),
            "expected": [
                {"triplets": one.triplets, **one.gain._asdict(), "rough": one.is_rough, "given": one.is_given}
                for one in self.forecasts(ter)
            ],
        }


def costs(editor: EditorGain, work: Workload) -> float | None:
    """Return what the machine, or an endpoint, costs for all of the work; None if it is not known."""
    if editor.editing_seconds is None:
        return None
    share = work.words / max(1, int(editor.sentences.words.sum()))
    machine = (editor.training_seconds + share * editor.editing_seconds) / 3600.0 * work.machine_price
    if editor.currency or editor.cost is not None:
        return None if editor.cost is None else machine + share * editor.cost
    return machine


class Recommendation(NamedTuple):
    """The answer, the editor it is about (the best one at hand if it is no), and why."""

    answer: Answer
    editor: str
    reason: str


def recommendation(editors: Sequence[EditorGain], ter: float, work: Workload | None = None) -> Recommendation:
    """Return whether an editor is worth it, with a probability of at most 5 % that it is recommended but does harm.

    The best of several editors looks good by chance. So each must be better than the unedited MT with more confidence
    than one alone (Bonferroni), and the interval that is told is as wide: whichever editor is chosen, it covers. Where
    an hour has a price and the cost is known, the money saved at the low end of the interval must also exceed the cost.
    """
    work = work or Workload()
    if not editors:
        return Recommendation("no", "", "no editor was tried")
    if not ter:
        return Recommendation(
            "no", "", "the post-editors changed nothing, so that there is nothing to learn and to gain"
        )
    confidence = simultaneous(len(editors))
    ordered = sorted(editors, key=lambda one: -one.sentences.points)
    least = work.least_share * ter
    helpful = [one for one in ordered if _helps(one.gain(ter, confidence), least)]
    losses = [_loss(one, one.gain(ter, confidence), ter, work) for one in helpful]
    # One whose cost is known to be covered comes before one whose cost is not known.
    for one, loss in sorted(zip(helpful, losses, strict=True), key=lambda pair: _is_unpriced(pair[0], work)):
        if not loss:
            unknown = "; what it costs is not known" * _is_unpriced(one, work)
            return Recommendation("yes", one.name, f"{one.name} spares {_told_of(one, editors, ter)}{unknown}")
    best = (helpful or ordered)[0]
    now = f"the best editor at hand, {best.name}, spares {_told_of(best, editors, ter)}"
    if losses:
        now += f", but {losses[0]}"
    hopes = list(_hopes(ordered, ter, least, work))
    if hopes:
        answer, editor, told = min(hopes, key=lambda one: one.answer != "all")
        return Recommendation(answer, editor, f"{now}; {told}")
    if not losses:
        sure = best.gain(ter, confidence).low > 0.0
        few = f"less than the {work.least_share:.0%} that are worth the trouble"
        now += f", {few if sure else 'which may be nothing at all'}"
    return Recommendation("no", best.name, now)


def _hopes(editors: Sequence[EditorGain], ter: float, least: float, work: Workload) -> Iterator[Recommendation]:
    """Yield the editors that will probably be worth it with more triplets, and their forecasts in words."""
    for one in editors:
        for hoped, expected in zip(one.forecasts(ter, _HOPEFUL), one.forecasts(ter), strict=True):
            if _helps(hoped.gain, least) and not _loss(one, hoped.gain, ter, work):
                told = (
                    f"with {expected.number} triplets {one.name} is expected to spare {_told(expected.gain, ter)}"
                    f"{', which is rough' * expected.is_rough}"
                )
                yield Recommendation("all" if expected.is_given else "later", one.name, told)


def _helps(gain: Gain, least: float) -> bool:
    return gain.low > 0.0 and gain.points >= least


def _is_unpriced(editor: EditorGain, work: Workload) -> bool:
    """Return whether an hour has a price, and what the editor costs is not known."""
    return bool(work.hour_price) and costs(editor, work) is None


def _loss(editor: EditorGain, gain: Gain, ter: float, work: Workload) -> str:
    """Return why an editor with this gain may cost more than it saves; "" if it does not, or prices are not known."""
    cost = costs(editor, work)
    if not work.hour_price or cost is None:
        return ""
    saved = work.hour_price * work.saved(gain, ter).hours.low
    if saved > cost:
        return ""
    paid, kept = (f"{value:,.{0 if abs(value) >= 100 else 2}f}" for value in (cost, saved))
    currency = f" {editor.currency}" if editor.currency else ""
    return f"it costs {paid}{currency} for all the work, and saves as little as {kept} at the low end of that interval"


def simultaneous(editors: int) -> float:
    """Return the confidence of each interval with which those of all editors cover at once with `CONFIDENCE`."""
    return 1.0 - (1.0 - CONFIDENCE) / editors


def _shares(gain: Gain, ter: float) -> Gain:
    """Return a gain in per cent of the edits."""
    return Gain(*(percentage(points, ter) or 0.0 for points in gain))


def _told(gain: Gain, ter: float, why_wide: str = "") -> str:
    share, low, high = _shares(gain, ter)
    return f"{share:z.1f} % of the edits ({CONFIDENCE:.0%} interval {low:z.1f} to {high:z.1f} %{why_wide})"


def _told_of(one: EditorGain, editors: Sequence[EditorGain], ter: float) -> str:
    """Return the gain of an editor that was chosen among others, in words."""
    why_wide = f", wider as {len(editors)} editors were tried" if len(editors) > 1 else ""
    return _told(one.gain(ter, simultaneous(len(editors))), ter, why_wide)


@dataclass(frozen=True, slots=True)
class Assessment:
    """An assessment of the triplets of a customer.

    Args:
        profile: what the errors are.
        editors: what each editor gains.
        work: of the customer.
        tokenizer: how texts were divided into words.
        signature: of TER.
        left_out: triplets or units that were not used, by reason.
        not_tried: editors that were not tried, with the reason.
        warnings: signs that the triplets are not what they are taken for, a sentence each.
        notes: what is to be known of the editors that were tried, likewise.
    """

    profile: ErrorProfile
    editors: tuple[EditorGain, ...]
    work: Workload
    tokenizer: str
    signature: str
    left_out: Mapping[str, int]
    not_tried: Mapping[str, str]
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def recommendation(self) -> Recommendation:
        """The answer."""
        return recommendation(self.editors, self.profile.ter, self.work)

    @property
    def unit(self) -> str:
        """What texts were divided into, and the work is counted in: "words" or "characters"."""
        return "characters" if self.tokenizer == "characters" else "words"

    @property
    def has_rough_forecasts(self) -> bool:
        """Whether a gain is forecast for many times the assessed triplets."""
        return any(expected.is_rough for one in self.editors for expected in one.forecasts(self.profile.ter))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "format": FORMAT,
            "recommendation": self.recommendation._asdict(),
            "confidence": CONFIDENCE,
            "signature": self.signature,
            "words divided by": self.tokenizer,
            "errors": self.profile.to_dict(),
            "editors": [one.to_dict(self.work, self.profile.ter) for one in self.editors],
            "work": {**asdict(self.work), "hours": self.work.hours},
            "left out": dict(self.left_out),
            "not tried": dict(self.not_tried),
            "warnings": list(self.warnings),
            "notes": list(self.notes),
            "about what is expected": ROUGH if self.has_rough_forecasts else "",
        }
