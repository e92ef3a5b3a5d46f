"""Cost and duration of work with a model behind an endpoint: estimates before it, and reports after it."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from postedit.core.editor import Segment
from postedit.core.files import save_json
from postedit.core.wording import counted
from postedit.data.blocks import blocks_of
from postedit.llm.asking import Wanted
from postedit.llm.llm_editor import LlmEditor
from postedit.llm.prices import estimated_tokens
from postedit.llm.usage_report import FORMAT

_PER_CHUNK: Final = 1000  # segments looked up together
_ANSWER_FRAME: Final = 12  # approximate tokens of a segment in an answer, without its text
_ERRORS: Final = 40  # approximate tokens of the errors of a segment


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimated cost and duration of editing some segments.

    Args:
        segments: number of segments.
        passes: maximum number of passes over the segments; later passes are estimated for all segments, although they
            ask only about those that changed.
        known: number of answers already in the store, which are not requested again.
        requests: number of requests to send.
        prompt_tokens: tokens of all prompts.
        answer_tokens: tokens of all answers.
        cost: total cost; None without prices.
        currency: currency of the cost; empty without prices.
        seconds: total duration; None if no request to the model was ever answered and there are no limits per minute.
    """

    segments: int
    passes: int
    known: int
    requests: int
    prompt_tokens: int
    answer_tokens: int
    cost: float | None
    currency: str
    seconds: float | None

    def __str__(self) -> str:
        """Return the estimate as a sentence."""
        known = f" ({self.known:,} answers are stored)" if self.known else ""
        cost = "cost not known without prices" if self.cost is None else f"about {self.cost:,.4f} {self.currency}"
        took = "time not known before the first answers" if self.seconds is None else f"about {_time(self.seconds)}"
        passes = f" in at most {self.passes} passes" if self.passes > 1 else ""
        return (
            f"Estimate for {self.segments:,} segments{passes}{known}: {counted(self.requests, 'request')}, "
            f"{self.prompt_tokens:,} tokens of prompts, {self.answer_tokens:,} of answers; {cost}; {took}"
        )


def estimate(editor: LlmEditor, segments: Iterable[Segment], passes: int = 1) -> Estimate:
    """Estimate the cost and duration of editing segments, without known answers and repeated requests.

    Which segments later passes will ask about, and which of the answers are known, cannot be foreseen: the estimate
    counts all segments in each of them, and assumes that no answer is known.
    """
    config, asking = editor.spec.config, editor.asking
    count = known = requests = prompt = answer = 0
    frame = estimated_tokens(*(one["content"] for one in editor.prompt.messages([])))
    errors = _ERRORS if editor.prompt.config.answer == "errors" else 0
    for chunk in blocks_of(segments, _PER_CHUNK):
        questions = editor.questions([one for one in chunk if one.src.strip() and (one.mt or "").strip()])
        count += len(chunk)
        keyed = {
            asking.key(wanted): wanted
            for wanted in (Wanted(one, sample) for sample in range(config.samples) for one in questions)
        }
        found = editor.store.known(keyed)
        known += found
        share = passes - found / max(1, len(keyed))  # of answers to request, summed over passes
        # Each request is for a single sample.
        fresh, whole = (number / config.samples for number in (len(keyed) - found, len(keyed)))
        full = config.samples * math.ceil(whole / config.segments)
        asked = config.samples * math.ceil(fresh / config.segments) + (passes - 1) * full
        asked_about = [wanted.question for wanted in keyed.values()]
        context = [one.line() for question in asked_about for one in question.examples]
        context += [one.line() for question in asked_about for one in question.terms]
        shown = min(estimated_tokens(*context), config.context_tokens * max(1, len(keyed) // config.segments))
        lines = estimated_tokens(*(one.line("000000") for one in asked_about))
        requests += asked
        prompt += asked * frame + round(share * (lines + shown))
        texts = estimated_tokens(*(one.mt for one in asked_about))
        answer += round(share * (texts + (_ANSWER_FRAME + errors) * len(keyed)))
    cost = None if editor.price is None else editor.price.cost(prompt, answer)
    currency = "" if editor.prices is None else editor.prices.currency
    seconds = _seconds(editor, requests, prompt + answer)
    return Estimate(count, passes, known, requests, prompt, answer, cost, currency, seconds)


def _seconds(editor: LlmEditor, requests: int, tokens: int) -> float | None:
    config, usual = editor.spec.config, editor.store.usual_seconds()
    times = [] if usual is None else [usual * math.ceil(requests / config.concurrency)]
    for number, limit in ((requests, config.requests_per_minute), (tokens, config.tokens_per_minute)):
        if limit:
            times.append(60.0 * max(0, number - limit) / limit)
    return max(times, default=None) if requests else 0.0


def report(editor: LlmEditor) -> dict[str, Any]:
    """Return the cost and usage of the run of an editor so far, as values for JSON."""
    config, figures = editor.spec.config, editor.store.figures()
    if editor.price is None:
        figures["cost"] = figures["of which perhaps not charged"] = None
    return {
        "format": FORMAT,
        "model": editor.spec.model,
        "endpoint": config.address,
        "signature": signature(editor),
        "currency": None if editor.prices is None else editor.prices.currency,
        "budget": config.budget or None,
        **figures,
    }


def signature(editor: LlmEditor) -> str:
    """Return the signature shown with scores: model, prompt, and how answers are chosen, as one word."""
    config = editor.spec.config
    parts = [f"model:{editor.spec.model}", f"prompt:{editor.prompt.signature}", f"segments:{config.segments}"]
    if config.samples > 1:
        parts += [f"n:{config.samples}", f"t:{config.temperature:g}"]
    if editor.is_member:
        parts.append("by:combination")
    elif config.samples > 1:
        parts.append(f"by:{'score' if config.scorer else config.consensus}")
    return "|".join(parts)


def write_report(path: Path, editor: LlmEditor) -> None:
    """Write the report of usage, either completely or not at all.

    Raises:
        OutputError: if it cannot be written.
    """
    save_json(path, report(editor))


def summary(editor: LlmEditor) -> str:
    """Return a sentence with the cost and usage of the run."""
    found = report(editor)
    cost = "" if found["cost"] is None else f", {found['cost']:,.4f} {found['currency']}"
    reused = found["answers known before"]
    again, left = (sum(found[name].values()) for name in ("asked again", "left as mt"))
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in found["left as mt"].items())
    return (
        f"{editor.spec.model}: {found['requests']:,} requests answered, {found['failed requests']:,} failed, "
        f"{found['prompt tokens']:,} tokens of prompts, {found['answer tokens']:,} of answers{cost}; {reused:,} stored "
        f"answers used; {again:,} segments asked about again, {left:,} answers unusable"
        f"{f' ({kinds})' if kinds else ''}"
    )


def _time(seconds: float) -> str:
    minutes = seconds / 60.0
    if minutes < 1.0:
        return f"{math.ceil(seconds)} s"
    return f"{minutes:,.0f} min" if minutes < 120 else f"{minutes / 60:,.1f} h"
