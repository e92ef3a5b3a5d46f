"""Configuration: declared with pydantic; checked as a whole, with all problems reported together."""

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Final, Self, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError

from postedit.core.arguments import python_value
from postedit.core.errors import DataError, RecipeError, nearest
from postedit.core.files import load_text, reason_of
from postedit.core.wording import counted


class Config(BaseModel):
    """Base of every configuration section: unknown keys, loose types, inf and nan are errors; instances are frozen.

    Raises:
        DataError: at construction, naming each option that is unknown, missing or out of range.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    def __init__(self, /, **values: Any) -> None:
        try:
            super().__init__(**{name: python_value(value) for name, value in values.items()})
        except ValidationError as error:
            raise DataError("; ".join(describe_problems(type(self), error))) from None

    # pydantic then skips this constructor for sections inside a recipe, so that problems carry full option names.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    def published(self) -> Self:
        """Return the section as saved in a model folder, which may be shared: without paths of this machine."""
        return self


ConfigT = TypeVar("ConfigT", bound=Config)


def load_config(kind: type[ConfigT], values: Mapping[str, Any], where: str) -> ConfigT:
    """Return `values` as a checked instance of `kind`.

    Raises:
        RecipeError: naming `where`, with a line for each problem: the option, the value found, the values allowed, and
            for an unknown option the known name nearest to it.
    """
    config, problems = check_config(kind, values)
    if config is None:
        raise problem_report(where, problems)
    return config


def check_config(kind: type[ConfigT], values: Mapping[str, Any], prefix: str = "") -> tuple[ConfigT | None, list[str]]:
    """Return `values` as a checked `kind` (None if invalid), and a line for each problem.

    Option names in these lines begin with `prefix`.
    """
    try:
        return kind.model_validate(dict(values)), []
    except ValidationError as error:
        return None, describe_problems(kind, error, prefix)


def describe_values(error: ValidationError) -> str:
    """Return what pydantic found wrong in values without a name, such as one of the command line, in our words."""
    told = (
        _message(problem) + ("" if problem["type"] == "value_error" else f" (found {problem['input']!r})")
        for problem in error.errors(include_url=False)
    )
    return "; ".join(dict.fromkeys(told))


def describe_problems(kind: type[BaseModel], error: ValidationError, prefix: str = "") -> list[str]:
    """Return a line for each distinct problem that pydantic found in a `kind`; option names begin with `prefix`."""
    lines = (_describe(kind, problem, prefix) for problem in error.errors(include_url=False))
    return list(dict.fromkeys(lines))  # pydantic reports every missing entry of a tuple, which gives equal lines


_OWN_WORDS: Final = {
    "greater_than": "must be above {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be below {lt}",
    "less_than_equal": "must be at most {le}",
    "finite_number": "must be a finite number",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "int_parsing": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "bool_type": "must be true or false",
    "string_type": "must be text",
    "string_pattern_mismatch": "must match the pattern {pattern}",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "dict_type": "must be a table",
    "model_type": "must be a table",
    "literal_error": "must be {expected}",
    "too_short": "must have {min_length} or more entries (it has {actual_length})",
    "too_long": "must have {max_length} or fewer entries (it has {actual_length})",
}
"""Messages by pydantic error type; other types keep pydantic's message."""


def problem_report(where: str, problems: Iterable[str]) -> RecipeError:
    """Return one error that lists all `problems` found in `where`."""
    lines = list(problems)
    return RecipeError("\n".join([f"{where}: {counted(len(lines), 'problem')}", *(f"  - {line}" for line in lines)]))


def read_toml(path: Path, kind: str = "recipe") -> dict[str, Any]:
    """Return the values of a TOML file; `kind` names it in messages.

    Raises:
        RecipeError: if the file is missing, unreadable, not UTF-8 or not TOML.
    """
    try:
        return tomllib.loads(load_text(path, "utf-8-sig"))  # some editors write a byte order mark
    except FileNotFoundError:
        raise RecipeError(f"{path}: no such {kind}") from None
    except OSError as error:
        raise RecipeError(f"{path}: cannot be read: {reason_of(error)}") from None
    except UnicodeDecodeError as error:
        raise RecipeError(f"{path}: byte {error.start} is not UTF-8; save the file as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise RecipeError(f"{path}: not valid TOML: {error}") from None
    except ValueError as error:
        raise RecipeError(f"{path}: cannot be a {kind}: {error}") from None
    except RecursionError:
        raise RecipeError(f"{path}: not valid TOML: its values are nested too deeply") from None


def override(values: Mapping[str, Any], assignments: Iterable[str]) -> dict[str, Any]:
    """Return a copy of `values` with `a.b=value` assignments applied; a value that is not TOML is a plain string.

    Raises:
        RecipeError: if an assignment has no `=`, or its path leads through something that is not a table.
    """
    result: dict[str, Any] = _copy_tables(values)
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        keys = name.strip().split(".")
        if not equals or not all(keys):
            raise RecipeError(f'--set {assignment}: write it as option=value, for instance "train.lr=3e-4"')
        table: Any = result
        for key in keys[:-1]:
            table = _table_named(table, key) if isinstance(table, list) else table.setdefault(key, {})
            if not isinstance(table, dict | list):
                raise RecipeError(f"--set {assignment}: {key} is a value, not a table of options")
        if isinstance(table, list):
            raise RecipeError(f"--set {assignment}: {keys[-2]} are several tables; write {keys[-2]}.NAME.option=value")
        table[keys[-1]] = _toml_value(text.strip())
    return result


def _table_named(tables: list[Any], name: str) -> Any:
    """Return the table with this name from an array of tables such as [[stage]]."""
    known = {table["name"]: table for table in tables if isinstance(table, dict) and isinstance(table.get("name"), str)}
    if name not in known:
        listed = ", ".join(known)
        raise RecipeError(f"--set: nothing here is called {name}{nearest(name, known)} (known here: {listed})")
    return known[name]


def _copy_tables(values: Any) -> Any:
    if isinstance(values, Mapping):
        return {key: _copy_tables(value) for key, value in values.items()}
    return [_copy_tables(value) for value in values] if isinstance(values, list) else values


def _toml_value(text: str) -> Any:
    try:
        parsed = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    return parsed["value"] if len(parsed) == 1 else text


def _describe(kind: type[BaseModel], problem: Any, prefix: str) -> str:
    *path, last = problem["loc"] or [""]
    location = [part for part in path if not _is_union_branch(part)]
    if problem["type"] in {"extra_forbidden", "missing"} or not _is_union_branch(last):
        location.append(last)  # the key itself may be called anything
    name = prefix + ".".join(str(part) for part in location)
    if problem["type"] == "extra_forbidden":
        known = set(_section_at(kind, location[:-1]).model_fields)
        return f"{name}: no such option{nearest(str(last), known)} (known here: {', '.join(sorted(known))})"
    if problem["type"] == "missing" and isinstance(last, int):  # in a tuple
        found, option = problem["input"], name.removesuffix(f".{last}")
        needed = len(get_args(_section_at(kind, location[:-2]).model_fields[location[-2]].annotation))
        return f"{option}: must have {needed} entries (it has {len(found)}) (found {found!r})"
    if problem["type"] == "missing":
        return f"{name}: missing; it has no default"
    message = _message(problem)
    if not problem["loc"] or (problem["type"] == "value_error" and isinstance(problem["input"], Mapping)):
        section = name.removesuffix(".")  # of which a rule over several options is broken
        return f"{section}: {message}" if section else message
    return f"{name}: {message} (found {problem.get('input')!r})"


def _message(problem: Any) -> str:
    limits = {key: _as_integer(value) for key, value in problem.get("ctx", {}).items()}
    own = _OWN_WORDS.get(problem["type"])
    return own.format(**limits) if own else str(problem["msg"]).removeprefix("Value error, ")


def _as_integer(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _is_union_branch(part: Any) -> bool:
    """Return whether a part of a location is pydantic's name for a branch of a union, which users need not see."""
    return isinstance(part, str) and (not part.replace("_", "").replace("-", "").isalnum() or part in {"str", "list"})


def _section_at(kind: Any, location: Iterable[Any]) -> Any:
    """Return the section class at `location` inside a `kind`."""
    for part in location:
        field = kind.model_fields.get(part)
        if field is not None:  # otherwise `part` is an index into a list of sections, or a key of a table of sections
            kind = _section_type(field.annotation)
    return kind


def _section_type(annotation: Any) -> Any:
    """Return the section class inside an annotation such as `Section | None` or `list[Section]`."""
    if get_origin(annotation) in (Annotated, Union, UnionType, list, tuple, dict):
        candidates = (_section_type(argument) for argument in get_args(annotation))
        return next((candidate for candidate in candidates if candidate is not None), None)
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None
