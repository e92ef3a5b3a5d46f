"""Recommend whether a customer should use automatic post-editing, from what editors gain and what that saves."""

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
"""Version of the JSON format."""

_HOPEFUL: Final = 0.8
"""Confidence of the interval of a forecast, which must lie above 0 before it is recommended to collect more triplets:
the gain is above its lower end 9 times in 10."""

Answer = Literal["yes", "all", "later", "no"]
"""Whether an editor is worth using. "yes": as it is; "all": once trained on all triplets at hand, of which only some
were assessed; "later": not yet, but with more triplets than are at hand; "no": not at all."""

ANSWERS: Final[Mapping[Answer, str]] = {
    "yes": "Yes",
    "all": "Probably, if you train on all your triplets",
    "later": "Not yet, but with more triplets",
    "no": "No",
}


@dataclass(frozen=True, slots=True)
class Workload:
    """The post-editing work of a customer, and its prices.

    Args:
        words: words of mt to post-edit; characters, if texts are divided into characters.
        words_per_hour: words, or characters, that a post-editor corrects in an hour without an editor.
        editing_share: share of that time that is spent on edits; the rest is spent on reading, which no editor saves.
        hour_price: price of an hour of a post-editor; None: not known.
        machine_price: price of an hour of the machine.
        least_share: smallest share of the edits that an editor must save to be worth the trouble.

    Raises:
        DataError: if a value is not a number, or out of range.
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
            if value is not None:  # NumPy numbers become Python numbers, which JSON can represent
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
        """The hours that the work takes without an editor."""
        return self.words / self.words_per_hour

    def saved(self, gain: Gain, ter: float) -> "Savings":
        """Return the edits that a gain saves and the hours, in proportion to them; `ter` is that of the unedited MT."""
        per_point = self.hours * self.editing_share / ter if ter else 0.0
        return Savings(
            Gain(*(self.words * points / 100.0 for points in gain)), Gain(*(per_point * points for points in gain))
        )


class Savings(NamedTuple):
    """Edits and hours that are saved; negative values are additional ones."""

    edits: Gain
    hours: Gain


@dataclass(frozen=True, slots=True)
class EditorGain:
    """The gain of an editor, and what it takes to train and to run it.

    Args:
        name: name of the editor.
        how: how the gain was measured: "cross-validated" or "as it is".
        sentences: gain in each sentence.
        half: the same for the editor trained on half as many triplets; None if no gain is forecast for it.
        training_seconds: seconds to train it once on all assessed triplets.
        editing_seconds: seconds to edit all of them; None: not known, as some answers of an endpoint were known before.
        cost: cost of editing all of them with a model behind an endpoint; None: not known, or it has no price.
        currency: currency of the cost.
        available: triplets at hand, of which only some may have been assessed; 0 for an editor that is not trained.
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
        """The number of sentences that the editor brings nearer to pe."""
        return int((self.sentences.saved > 0).sum())

    @property
    def worse(self) -> int:
        """The number of sentences that the editor moves farther from pe."""
        return int((self.sentences.saved < 0).sum())

    def gain(self, ter: float, confidence: float = CONFIDENCE) -> Gain:
        """Return the gain with its interval, both at most `ter`, that of the unedited MT: no more can be gained."""
        return self.sentences.gain(confidence).at_most(ter)

    def forecasts(self, ter: float, confidence: float = CONFIDENCE) -> list[Forecast]:
        """Return the gains expected with more triplets; none without `half`."""
        if self.half is None:
            return []
        return forecast(self.sentences, self.half, ter, confidence, self.available)

    def to_dict(self, work: Workload, ter: float) -> dict[str, Any]:
        """Return plain values for JSON; `ter` is that of the unedited MT."""
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
    """Return what the machine and, if there is one, the endpoint cost for the whole work; None if it is not known."""
    if editor.editing_seconds is None:
        return None
    share = work.words / max(1, int(editor.sentences.words.sum()))
    machine = (editor.training_seconds + share * editor.editing_seconds) / 3600.0 * work.machine_price
    if editor.currency or editor.cost is not None:
        return None if editor.cost is None else machine + share * editor.cost
    return machine


class Recommendation(NamedTuple):
    """The answer, the editor that it is about (for "no", the best one tried), and the reason."""

    answer: Answer
    editor: str
    reason: str


def recommendation(editors: Sequence[EditorGain], ter: float, work: Workload | None = None) -> Recommendation:
    """Return whether an editor is worth using; the probability of recommending one that does harm is at most 5 %.

    The best of several editors may look good by chance. So each must be better than the unedited MT, of which `ter` is
    the TER, with more confidence than a single one would need (Bonferroni). The reported interval is widened likewise,
    so that it holds whichever editor is chosen. If an hour has a price and the editor's cost is known, the money saved
    at the low end of the interval must also exceed that cost.
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
    # An editor whose cost is known to be covered comes before one whose cost is not known.
    for one, loss in sorted(zip(helpful, losses, strict=True), key=lambda pair: _is_unpriced(pair[0], work)):
        if not loss:
            unknown = "; what it costs is not known" * _is_unpriced(one, work)
            return Recommendation(
                "yes", one.name, f"{one.name} saves {_chosen_gain_in_words(one, editors, ter)}{unknown}"
            )
    best = (helpful or ordered)[0]
    now = f"the best editor tried, {best.name}, saves {_chosen_gain_in_words(best, editors, ter)}"
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
    """Yield recommendations of editors that will probably be worth using with more triplets, with their forecasts."""
    for one in editors:
        for hoped, expected in zip(one.forecasts(ter, _HOPEFUL), one.forecasts(ter), strict=True):
            if _helps(hoped.gain, least) and not _loss(one, hoped.gain, ter, work):
                told = (
                    f"with {expected.number} triplets {one.name} is expected to save "
                    f"{_gain_in_words(expected.gain, ter)}{', which is rough' * expected.is_rough}"
                )
                yield Recommendation("all" if expected.is_given else "later", one.name, told)


def _helps(gain: Gain, least: float) -> bool:
    return gain.low > 0.0 and gain.points >= least


def _is_unpriced(editor: EditorGain, work: Workload) -> bool:
    """Return whether an hour has a price, but the cost of the editor is not known."""
    return bool(work.hour_price) and costs(editor, work) is None


def _loss(editor: EditorGain, gain: Gain, ter: float, work: Workload) -> str:
    """Return why an editor with this gain may cost more than it saves; "" if it does not or prices are not known."""
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
    """Return the confidence that each editor's interval needs so that all of them hold at once with `CONFIDENCE`."""
    return 1.0 - (1.0 - CONFIDENCE) / editors


def _shares(gain: Gain, ter: float) -> Gain:
    """Return a gain in per cent of the edits that the unedited MT needs."""
    return Gain(*(percentage(points, ter) or 0.0 for points in gain))


def _gain_in_words(gain: Gain, ter: float, why_wide: str = "") -> str:
    share, low, high = _shares(gain, ter)
    return f"{share:z.1f} % of the edits ({CONFIDENCE:.0%} interval {low:z.1f} to {high:z.1f} %{why_wide})"


def _chosen_gain_in_words(one: EditorGain, editors: Sequence[EditorGain], ter: float) -> str:
    """Return in words the gain of an editor that was chosen among several."""
    why_wide = f", wider as {len(editors)} editors were tried" if len(editors) > 1 else ""
    return _gain_in_words(one.gain(ter, simultaneous(len(editors))), ter, why_wide)


@dataclass(frozen=True, slots=True)
class Assessment:
    """An assessment of a customer's triplets.

    Args:
        profile: profile of the errors.
        editors: gain of each editor.
        work: work of the customer.
        tokenizer: how texts were divided into words.
        signature: signature of TER.
        left_out: number of triplets or units that were not used, by reason.
        not_tried: reason for each editor that was not tried.
        warnings: signs that the triplets are not what they are taken for, one sentence each.
        notes: remarks on the editors that were tried, one sentence each.
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
        """The answer, with the editor and the reason."""
        return recommendation(self.editors, self.profile.ter, self.work)

    @property
    def unit(self) -> str:
        """The unit that texts were divided into, and in which the work is counted: "words" or "characters"."""
        return "characters" if self.tokenizer == "characters" else "words"

    @property
    def has_rough_forecasts(self) -> bool:
        """Whether a gain is forecast for many times more triplets than were assessed."""
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
