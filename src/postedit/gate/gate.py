"""Gates, and their file: what was learnt on a dev set of which changes to keep."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, Self

from pydantic import Field

import postedit
from postedit.core.config import Config, check_config
from postedit.core.editor import Identity, PostEdit
from postedit.core.errors import ModelFolderError
from postedit.core.files import atomic_write
from postedit.core.search_config import with_present_names
from postedit.editing.results import keep_edits
from postedit.gate.edit_features import Features, Judged, words_changed

Level = Literal["sentence", "edit"]

_FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class Calibrator:
    """A logistic regression: the probability that a change with given features makes mt better.

    Args:
        means: of the features, to subtract, in the order of `Features`.
        scales: to divide by afterwards.
        weights: of what that gives.
        bias: to add.
    """

    means: tuple[float, ...]
    scales: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float

    def __call__(self, features: Features) -> float:
        """Return the probability."""
        parts = zip(features.values(), self.means, self.scales, self.weights, strict=True)
        logit = self.bias + sum(weight * (value - mean) / scale for value, mean, scale, weight in parts)
        return 1.0 / (1.0 + math.exp(-logit)) if logit >= 0 else math.exp(logit) / (1.0 + math.exp(logit))


@dataclass(frozen=True, slots=True)
class Rule:
    """What a gate lets through.

    Args:
        level: whether it decides on whole corrections or on each edit.
        calibrator: what gives the probability that a change makes mt better.
        threshold: the least such probability that is let through; None if nothing is.
        longest: a line of which more words would change stays as it is.
    """

    level: Level
    calibrator: Calibrator
    threshold: float | None
    longest: int

    def confidences(self, judged: Judged) -> tuple[float, ...]:
        """Return for each edit the probability that it, or the correction it is part of, makes mt better."""
        if judged.whole is None:
            return ()
        if self.level == "edit":
            return tuple(map(self.calibrator, judged.parts))
        return (self.calibrator(judged.whole),) * len(judged.result.edits)

    def __call__(self, mt: str, judged: Judged, least: float = 0.0) -> PostEdit:
        """Return the correction with what is let through; `least` may ask for more confidence than the threshold."""
        result = replace(judged.result, confidences=self.confidences(judged))
        threshold = math.inf if self.threshold is None else max(self.threshold, least)
        kept = keep_edits(mt, result, [confidence >= threshold for confidence in result.confidences])
        if kept.changed and words_changed(mt, kept.text) > self.longest:
            return keep_edits(mt, result, [False] * len(result.edits))
        return kept


@dataclass(frozen=True, slots=True)
class Gate:
    """Decides which changes of one model are returned; see `gate.calibrate`.

    Args:
        rule: what it lets through.
        identity: the model and the search that it was made for.
        calibration: on what it was made, how, and what it gave; values for JSON.
    """

    rule: Rule
    identity: Identity
    calibration: Mapping[str, Any] = field(default_factory=dict)

    @property
    def closed(self) -> bool:
        """Whether nothing passes, because nothing could be shown to be better than mt."""
        return self.rule.threshold is None

    def check(self, found: Identity) -> None:
        """See to it that the gate was made for this model and search.

        Raises:
            ModelFolderError: saying what is different.
        """
        if found.models != self.identity.models:
            raise ModelFolderError(
                "the gate was made for another model, or this one has changed since; make a new one by `postedit gate`"
            )
        theirs, ours = (json.loads(json.dumps(dict(one.settings))) for one in (self.identity, found))
        differing = [
            f"{name} (gate: {theirs.get(name)!r}, here: {ours.get(name)!r})"
            for name in {**theirs, **ours}
            if theirs.get(name) != ours.get(name)
        ]
        if differing:
            raise ModelFolderError(
                f"the gate was made for a search with other settings: {', '.join(differing)}; give the same ones, or "
                "make a new gate with these"
            )

    def save(self, path: Path) -> None:
        """Write the file.

        Raises:
            OutputError: if it cannot be written.
        """
        calibrator = self.rule.calibrator
        values = {
            "format": _FORMAT,
            "postedit": postedit.__version__,
            "level": self.rule.level,
            "threshold": self.rule.threshold,
            "longest": self.rule.longest,
            "bias": calibrator.bias,
            "features": {
                name: {"mean": mean, "scale": scale, "weight": weight}
                for name, mean, scale, weight in zip(
                    Features.names(), calibrator.means, calibrator.scales, calibrator.weights, strict=True
                )
            },
            "models": list(self.identity.models),
            "settings": dict(self.identity.settings),
            "calibration": dict(self.calibration),
        }
        with atomic_write(path) as file:
            json.dump(values, file, indent=2, ensure_ascii=False)
            file.write("\n")

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read the file at `path`.

        Raises:
            ModelFolderError: if it cannot be read, or is no gate that this version can use.
        """
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise ModelFolderError(f"{path}: cannot be read: {error.strerror}") from None
        except ValueError:
            raise ModelFolderError(f"{path}: is not a gate, which is a JSON file from `postedit gate`") from None
        config, problems = check_config(_GateFile, values) if isinstance(values, dict) else (None, ["no JSON object"])
        if config is not None and set(config.features) != set(Features.names()):
            problems = [f"its features are {', '.join(config.features)}, not {', '.join(Features.names())}"]
        if config is None or problems:
            raise ModelFolderError(f"{path}: not a gate that can be used: {'; '.join(problems)}; make it anew")
        return cls(
            config.rule(), Identity(tuple(config.models), with_present_names(config.settings)), config.calibration
        )


class _Term(Config):
    """What a feature counts for."""

    mean: float = Field(description="what is subtracted", allow_inf_nan=False)
    scale: float = Field(description="what it is divided by", gt=0.0, allow_inf_nan=False)
    weight: float = Field(description="what it is multiplied by", allow_inf_nan=False)


class _GateFile(Config):
    """A gate as it is in its file."""

    format: Literal[1] = Field(description="version of this form")
    postedit: str = Field(description="version that wrote it")
    level: Level = Field(description="what it decides on")
    threshold: float | None = Field(description="least probability that passes; null: nothing does", ge=0.0, le=1.0)
    longest: int = Field(description="words that may change in a line", ge=0)
    bias: float = Field(description="of the logistic regression", allow_inf_nan=False)
    features: dict[str, _Term] = Field(description="by name")
    models: list[str] = Field(description="fingerprints of what it was made for")
    settings: dict[str, Any] = Field(description="of the search it was made for")
    calibration: dict[str, Any] = Field({}, description="how it was made")

    def rule(self) -> Rule:
        terms: Sequence[_Term] = [self.features[name] for name in Features.names()]
        means, scales, weights = zip(*((term.mean, term.scale, term.weight) for term in terms))
        return Rule(self.level, Calibrator(means, scales, weights, self.bias), self.threshold, self.longest)
