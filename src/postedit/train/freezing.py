"""Parameters that are left as they are, by patterns of their names."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from torch import nn

from postedit.core.errors import RecipeError, nearest


def freeze(model: nn.Module, patterns: Sequence[str]) -> None:
    """Let no parameter be trained that has a name which one of the `patterns` (`embed*`, `*.bias`) matches.

    Raises:
        RecipeError: if a pattern matches no name, or nothing is left to train.
    """
    parameters = dict(model.named_parameters(remove_duplicate=False))  # a shared one has several names
    for pattern in patterns:
        matching = [name for name in parameters if fnmatchcase(name, pattern)]
        if not matching:
            near = nearest(pattern.replace("*", ""), [*_prefixes(parameters), *parameters])
            parts = ", ".join(f"{part}*" for part in dict.fromkeys(name.partition(".")[0] for name in parameters))
            raise RecipeError(f'no parameter is called "{pattern}"{near} (known here: {parts})')
        for name in matching:
            parameters[name].requires_grad_(False)
    if not any(parameter.requires_grad for parameter in parameters.values()):
        raise RecipeError("nothing is left to train; leave out a pattern")


def _prefixes(names: Sequence[str] | dict[str, nn.Parameter]) -> list[str]:
    """Return the names of all modules that have parameters in them."""
    return list(dict.fromkeys(name.rpartition(".")[0] for name in names if "." in name))
