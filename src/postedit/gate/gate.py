"""Gates and gate files: a calibrated decision on which changes of mt to keep."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, Self

from pydantic import Field

import postedit
from postedit.core.arguments import path_of
from postedit.core.config import Config, check_config
from postedit.core.editor import Identity, PostEdit
from postedit.core.errors import ModelFolderError
from postedit.core.files import load_json, reason_of, save_json
from postedit.core.search_config import with_present_names
from postedit.editing.results import keep_edits
from postedit.evaluate.tokenisation import Tokenize
from postedit.gate.edit_features import CorrectionFeatures, Features, words_changed

Level = Literal["sentence", "edit"]

_FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class Calibrator:
    """A logistic regression: the probability that a change with given features makes mt better."""

    means: tuple[float, ...]  # means of the features, in the order of `Features`
    scales: tuple[float, ...]  # divisors of the centred features
    weights: tuple[float, ...]  # weights of the scaled features
    bias: float

    def __call__(self, features: Features) -> float:
        """Return the probability that a change with these features makes mt better."""
        parts = zip(features.values(), self.means, self.scales, self.weights, strict=True)
        logit = self.bias + sum(weight * (value - mean) / scale for value, mean, scale, weight in parts)
        return 1.0 / (1.0 + math.exp(-logit)) if logit >= 0 else math.exp(logit) / (1.0 + math.exp(logit))


@dataclass(frozen=True, slots=True)
class Rule:
    """The decision rule of a gate."""

    level: Level  # whether it decides on whole corrections or on each edit
    calibrator: Calibrator  # computes the probability that a change makes mt better
    threshold: float | None  # least probability of changes that pass; None if none passes
    longest: int  # the most words that may change in a segment; one with more is left unchanged
    tokenize: Tokenize = "none"  # what counts as a word

    def confidences(self, judged: CorrectionFeatures) -> tuple[float, ...]:
        """Return the probability that each edit, or the correction that it is part of, makes mt better."""
        if judged.whole is None:
            return ()
        if self.level == "edit":
            return tuple(map(self.calibrator, judged.parts))
        return (self.calibrator(judged.whole),) * len(judged.result.edits)

    def __call__(self, mt: str, judged: CorrectionFeatures, least: float = 0.0) -> PostEdit:
        """Return the correction with the edits that pass; `least` may require more confidence than the threshold."""
        result = replace(judged.result, confidences=self.confidences(judged))
        threshold = math.inf if self.threshold is None else max(self.threshold, least)
        kept = keep_edits(mt, result, [confidence >= threshold for confidence in result.confidences])
        if kept.changed and words_changed(mt, kept.text, self.tokenize) > self.longest:
            return keep_edits(mt, result, [False] * len(result.edits))
        return kept


@dataclass(frozen=True, slots=True)
class Gate:
    """Decides which changes by one model, with one search, are kept; see `gate.calibrate`."""

    rule: Rule
    identity: Identity  # identity of the editor that it was made for
    calibration: Mapping[str, Any] = field(default_factory=dict)  # data, options and results; values for JSON
    path: Path | None = field(default=None, compare=False, repr=False)  # the file that it was read from, if any

    @property
    def closed(self) -> bool:
        """Whether nothing passes, because no gate could be shown to make mt better."""
        return self.rule.threshold is None

    def check(self, found: Identity) -> None:
        """Check that the gate was made for an editor of this identity.

        Raises:
            ModelFolderError: naming the differences.
        """
        gate = "the gate" if self.path is None else f"{self.path}: this gate"
        if found.models != self.identity.models:
            raise ModelFolderError(
                f"{gate} was made for another model, or this one has changed since; make a new one by `postedit gate`"
            )
        theirs, ours = (json.loads(json.dumps(dict(one.settings))) for one in (self.identity, found))
        differing = [
            f"{name} (gate: {theirs.get(name)!r}, here: {ours.get(name)!r})"
            for name in {**theirs, **ours}
            if theirs.get(name) != ours.get(name)
        ]
        if differing:
            raise ModelFolderError(
                f"{gate} was made for a search with other settings: {', '.join(differing)}; give the same ones, or "
                "make a new gate with these"
            )

    def save(self, path: str | Path) -> None:
        """Write the gate to the file `path`.

        Raises:
            OutputError: if the file cannot be written.
        """
        rule, calibrator = self.rule, self.rule.calibrator
        parts = zip(Features.names(), calibrator.means, calibrator.scales, calibrator.weights, strict=True)
        values = {
            "format": _FORMAT,
            "postedit": postedit.__version__,
            "level": rule.level,
            "threshold": rule.threshold,
            "longest": rule.longest,
            "tokenize": rule.tokenize,
            "bias": calibrator.bias,
            "features": {name: {"mean": mean, "scale": scale, "weight": weight} for name, mean, scale, weight in parts},
            "models": list(self.identity.models),
            "settings": dict(self.identity.settings),
            "calibration": dict(self.calibration),
        }
        save_json(Path(path), values)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a gate from the file `path`.

        Raises:
            ModelFolderError: if the file cannot be read, or is not a gate that this version can use.
            DataError: if `path` is not a path.
        """
        path = path_of("path", path)
        try:
            values = load_json(path)
        except OSError as error:
            raise ModelFolderError(f"{path}: cannot be read: {reason_of(error)}") from None
        except ValueError:
            values = None
        if not isinstance(values, dict) or not {"threshold", "features", "format"} & values.keys():
            raise ModelFolderError(f"{path}: is not a gate, which is a JSON file from `postedit gate`")
        config, problems = check_config(_GateFile, values)
        if config is not None and set(config.features) != set(Features.names()):
            problems = [f"its features are {', '.join(config.features)}, not {', '.join(Features.names())}"]
        if config is None or problems:
            raise ModelFolderError(f"{path}: not a gate that can be used: {'; '.join(problems)}; make it anew")
        identity = Identity(tuple(config.models), with_present_names(config.settings))
        return cls(config.rule(), identity, config.calibration, path)


class _Weight(Config):
    """The scaling and weight of a feature."""

    mean: float
    scale: float = Field(gt=0.0)
    weight: float


class _GateFile(Config):
    """The content of a gate file."""

    format: Literal[1]
    postedit: str = Field(description="version of postedit that wrote the file")
    level: Level
    threshold: float | None = Field(ge=0.0, le=1.0)
    longest: int = Field(ge=0)
    tokenize: Tokenize = Field("none", description="what counts as a word; gates of earlier versions do not say")
    bias: float
    features: dict[str, _Weight] = Field(description="by name")
    models: list[str] = Field(description="fingerprints of the files of the editor that it was made for")
    settings: dict[str, Any] = Field(description="of the search that it was made for")
    calibration: dict[str, Any] = Field({})

    def rule(self) -> Rule:
        given = [self.features[name] for name in Features.names()]
        means, scales, weights = zip(*((one.mean, one.scale, one.weight) for one in given))
        calibrator = Calibrator(means, scales, weights, self.bias)
        return Rule(self.level, calibrator, self.threshold, self.longest, self.tokenize)
