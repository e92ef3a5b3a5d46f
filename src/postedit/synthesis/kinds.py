"""Recipes for artificial triplets: a TOML file with one section, `[synth]`, whose `kind` selects its options."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from postedit.core.config import check_config, override, problem_report, read_toml
from postedit.core.errors import nearest
from postedit.synthesis.config import SynthConfig
from postedit.synthesis.noise.noise_recipe import NoiseConfig
from postedit.synthesis.selection.corpus_mix import MixConfig
from postedit.synthesis.translation.parallel_text import ErrorsConfig, ForwardConfig
from postedit.synthesis.translation.roundtrip import RoundtripConfig

SECTION: Final = "synth"

KINDS: Final[Mapping[str, type[SynthConfig]]] = {
    "noise": NoiseConfig,
    "forward": ForwardConfig,
    "errors": ErrorsConfig,
    "roundtrip": RoundtripConfig,
    "mix": MixConfig,
}
"""The kinds of `[synth]` sections by their names in recipes."""


def load_synth_recipe(path: Path, overrides: Sequence[str] = ()) -> SynthConfig:
    """Return the checked section of the recipe at `path`, with `overrides` (`synth.seed=2`) applied.

    `synth.dir` is relative to the folder of the recipe, or to the current folder if an override sets it.

    Raises:
        RecipeError: if the recipe has problems; the message lists all of them.
    """
    values = override(read_toml(path), overrides)
    dir_overridden = any(assignment.partition("=")[0].strip() == f"{SECTION}.dir" for assignment in overrides)
    base = Path.cwd() if dir_overridden else path.resolve().parent
    problems = [
        f"{name}: no such section{nearest(name, [SECTION])} (allowed: {SECTION})" for name in values if name != SECTION
    ]
    section = values.get(SECTION, {})
    kind, found = _kind(section)
    problems += found
    if kind is not None:
        config, found = check_config(kind, section, f"{SECTION}.")
        problems += found
        if config is not None:
            config, found = config.resolve(base)
            problems += found
            if not problems:
                return config
    raise problem_report(str(path), problems)


def _kind(section: Any) -> tuple[type[SynthConfig] | None, list[str]]:
    if not isinstance(section, Mapping):
        return None, [f"{SECTION}: must be a section of options, [{SECTION}] (found {section!r})"]
    name = section.get("kind")
    if isinstance(name, str) and name in KINDS:
        return KINDS[name], []
    fault = "missing" if name is None else f"no such kind: {name!r}{nearest(str(name), KINDS)}"
    return None, [f"{SECTION}.kind: {fault} (allowed: {', '.join(KINDS)})"]
