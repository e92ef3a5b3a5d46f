"""Recipes that say how triplets are made: a TOML file with one section, `[synth]`, whose `kind` decides its options."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from postedit.core.config import Config, check_config, override, problem_report, read_toml
from postedit.core.errors import nearest
from postedit.synthesis import forward, mix, noise, roundtrip
from postedit.synthesis.phase import Phase

SECTION: Final = "synth"


class SynthConfig(Protocol):
    """The section of any kind."""

    def resolve(self, base: Path) -> tuple[Any, list[str]]:
        """Return the section with the paths of inputs made absolute, and what is wrong with the files."""
        ...


@dataclass(frozen=True, slots=True)
class Kind:
    """A way of making triplets.

    Args:
        config: the class of its section.
        phases: what is to be done, in order, given a resolved section.
    """

    config: type[Config]
    phases: Callable[[Any], Sequence[Phase]]


KINDS: Final[Mapping[str, Kind]] = {
    "noise": Kind(noise.NoiseConfig, noise.phases),
    "forward": Kind(forward.ForwardConfig, forward.phases),
    "roundtrip": Kind(roundtrip.RoundtripConfig, roundtrip.phases),
    "mix": Kind(mix.MixConfig, mix.phases),
}
"""The ways of making triplets, by the name that recipes use."""


def load_phases(path: Path, overrides: Sequence[str] = ()) -> Sequence[Phase]:
    """Return what the recipe at `path`, with `overrides` (`synth.seed=2`) applied, says is to be done.

    `synth.dir` is relative to the recipe's folder, or to the current one if an override gives it.

    Raises:
        RecipeError: naming all problems.
    """
    values = override(read_toml(path), overrides)
    given_here = any(assignment.partition("=")[0].strip() == f"{SECTION}.dir" for assignment in overrides)
    base = Path.cwd() if given_here else path.resolve().parent
    problems = [
        f"{name}: no such section{nearest(name, [SECTION])} (known here: {SECTION})"
        for name in values
        if name != SECTION
    ]
    section = values.get(SECTION, {})
    kind, found = _kind(section)
    problems += found
    config: Any = None
    if kind is not None:
        config, found = check_config(kind.config, section, f"{SECTION}.")
        problems += found
    if config is not None:
        config, found = config.resolve(base)
        problems += found
    if problems or config is None or kind is None:
        raise problem_report(str(path), problems)
    return kind.phases(config)


def _kind(section: Any) -> tuple[Kind | None, list[str]]:
    if not isinstance(section, Mapping):
        return None, [f"{SECTION}: must be a section of options, [{SECTION}] (found {section!r})"]
    name = section.get("kind")
    if isinstance(name, str) and name in KINDS:
        return KINDS[name], []
    fault = "missing" if name is None else f"no such kind: {name!r}{nearest(str(name), KINDS)}"
    return None, [f"{SECTION}.kind: {fault} (known here: {', '.join(KINDS)})"]
