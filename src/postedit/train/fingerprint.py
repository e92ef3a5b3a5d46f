"""What a run was started with, and what of it has changed when it is resumed."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from torch import nn

from postedit.data.corpus import Corpus
from postedit.data.triplets import SamplingWeight
from postedit.train.config import FREE_ON_RESUME, TrainConfig, average_of


def identity(
    model: nn.Module,
    corpus: Corpus,
    dev: Corpus,
    config: TrainConfig,
    sampling_weights: Sequence[SamplingWeight] = (),
) -> dict[str, Any]:
    """Return all that must be the same for a resumed run to end as if it had never been stopped."""
    shapes = sorted((name, list(tensor.shape)) for name, tensor in model.state_dict().items())
    return {
        "config": config.model_dump(mode="json", exclude=set(FREE_ON_RESUME)),
        "corpus": corpus.fingerprint,
        "shares": []
        if set(sampling_weights) <= {SamplingWeight()}
        else [asdict(weight) for weight in sampling_weights],
        "dev": dev.fingerprint,
        "model": hashlib.sha256(json.dumps(shapes).encode()).hexdigest(),
    }


_DEFAULTS: Final = TrainConfig(max_steps=1).model_dump(mode="json", exclude=set(FREE_ON_RESUME))
"""What options stand for that a run of an earlier version did not know."""

DATA: Final = {
    "corpus": "the training corpus has other content",
    "shares": "the sources of the training corpus have other weights or epochs",
    "dev": "the dev corpus has other content",
}
"""What may be other data, and how to say it."""


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return, for a person, what differs between the identity `before` and that of `now`."""
    known = {**_DEFAULTS, **before["config"]}
    before = {**before, "config": {**known, "average": average_of(known["average"])}}
    options = sorted(before["config"].keys() | now["config"].keys())
    found = [
        f"train.{option}: was {before['config'].get(option)!r}, is {now['config'].get(option)!r}"
        for option in options
        if before["config"].get(option) != now["config"].get(option)
    ]
    model = "the model has other weights: another architecture, other sizes or other vocabularies"
    changed = [model] if before["model"] != now["model"] else []
    return found + [DATA[key] for key in changed_data(before, now)] + changed


def changed_data(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return which of `DATA` differ; runs of before there were shares had none."""
    return [key for key in DATA if before.get(key, []) != now[key]]
