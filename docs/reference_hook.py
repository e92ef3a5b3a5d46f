"""MkDocs hook: writes the reference pages from the code, so that they cannot fall behind it.

A page asks with a comment: `<!-- reference: recipe -->`, `<!-- reference: clean -->`, `<!-- reference: settings -->`,
`<!-- reference: cli -->`, or
`<!-- reference: python postedit.PostEditor -->` (any public name, by its full path).
"""

import dataclasses
import html
import importlib
import inspect
import json
import re
from collections.abc import Collection, Iterator
from copy import copy
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel
from pydantic.fields import FieldInfo

_WIDTH = 75
"""Longest signature in characters that fits on a line of the page, after a short name."""

_MARKER = re.compile(r"<!-- reference: (\w+) ?(\S*) -->")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fill in the reference a page asks for; called by MkDocs for each page."""
    writers = {"recipe": _recipe, "clean": _cleaning, "settings": _settings, "cli": _command_line, "python": _python}
    return _MARKER.sub(lambda match: writers[match[1]](*filter(None, [match[2]])), markdown)


def _recipe() -> str:
    from postedit.models import ARCHITECTURES
    from postedit.phrase.phrase_options import NAME, PhraseConfig, PhraseTextConfig, PhraseTuneConfig
    from postedit.recipe import Recipe
    from postedit.synthesis.kinds import KINDS

    models = [
        f'## `[model]` with `name = "{name}"`\n\n*{architecture.summary}* ({architecture.paper}).\n\n'
        + _table(architecture.config_class)
        for name, architecture in ARCHITECTURES.items()
    ]
    sections = [
        f"## `{'[[' if get_origin(hint) is tuple else '['}{name}{']]' if get_origin(hint) is tuple else ']'}`\n\n"
        f"{_first_paragraph(kind)}\n\n{_table(kind)}"
        for name, hint in get_type_hints(Recipe).items()
        if name != "model" and (kind := _config_of(hint))
    ]
    synthesis = [
        f'## `[synth]` with `kind = "{name}"`\n\n{_first_paragraph(kind)}\n\n{_table(kind)}'
        for name, kind in KINDS.items()
    ]
    own = {"model": PhraseConfig, "text": PhraseTextConfig, "tune": PhraseTuneConfig}
    phrases = [
        f'## `[{name}]` of a model with `name = "{NAME}"`\n\n{_first_paragraph(kind)}\n\n{_table(kind)}'
        for name, kind in own.items()
    ]
    return "\n\n".join(sections + models + phrases + synthesis)  # first what every recipe has


def _cleaning() -> str:
    from postedit.data.cleaning.config import CleanConfig

    return _table(CleanConfig)


def _settings() -> str:
    from postedit.serve.settings import ServeConfig, ServedModel

    return f"{_table(ServeConfig)}\n\n## `[models.NAME]`\n\n{_first_paragraph(ServedModel)}\n\n{_table(ServedModel)}"


def _table(kind: type[BaseModel]) -> str:
    rows = ["| option | type | default | meaning |", "|---|---|---|---|", *_rows(kind, "")]
    return "\n".join(rows)


def _rows(kind: type[BaseModel], prefix: str) -> Iterator[str]:
    documented = _documented_arguments(kind)
    for name, field in kind.model_fields.items():
        inner, meaning = _config_of(field.annotation), field.description or documented.get(name, "")
        if meaning.endswith("read from the checkpoint") or (prefix and name in _of_short_form(kind)):
            continue  # nobody sets it
        has_rows = inner is not None and not meaning.startswith("as `[")  # of a section described elsewhere
        if inner is None or _has_short_form(inner) or not has_rows or _may_lack(field.annotation):
            yield f"| `{prefix}{name}` | {_type_name(field.annotation)} | {_default(field)} | {_cell(meaning)} |"
        elif field.description is not None:
            yield f"| `{prefix}{name}` | table | | {_cell(meaning)} |"
        if has_rows and inner is not None and (not _has_short_form(inner) or _of_short_form(inner)):
            yield from _rows(inner, f"{prefix}{name}.")


def _may_lack(annotation: Any) -> bool:
    """Whether a section may be left out, or be given several times."""
    return _is_union(annotation) or get_origin(annotation) in (list, tuple)


def _of_short_form(kind: type[BaseModel]) -> Collection[str]:
    """Return the options that a section inherits from one with a short form, which gives them."""
    base = kind.__base__
    return base.model_fields if base is not None and issubclass(base, BaseModel) and _has_short_form(base) else ()


def _has_short_form(kind: type[BaseModel]) -> bool:
    """Whether values other than a table are accepted, so that it reads as one option."""
    return any(validator.info.mode == "before" for validator in kind.__pydantic_decorators__.model_validators.values())


def _documented_arguments(kind: type[BaseModel]) -> dict[str, str]:
    """Return what the class docstring says of each argument, in Google style."""
    _, _, arguments = (inspect.getdoc(kind) or "").partition("Args:\n")
    found: dict[str, str] = {}
    name = ""
    for line in arguments.split("\n"):
        start = re.match(r" {4}(\w+)(?: \([^)]*\))?: (.*)", line)
        if start:
            name = start[1]
            found[name] = start[2]
        elif name and line.startswith(" " * 8):
            found[name] += " " + line.strip()
        elif line.strip():
            break
    return found


def _config_of(annotation: Any) -> type[BaseModel] | None:
    if get_origin(annotation) is Annotated:
        return _config_of(get_args(annotation)[0])
    if _is_union(annotation) or get_origin(annotation) in (list, tuple):
        kinds = [kind for kind in map(_config_of, get_args(annotation)) if kind]
        return kinds[0] if len(kinds) == 1 else None
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None


def _is_union(annotation: Any) -> bool:
    return get_origin(annotation) in (Union, UnionType)


def _type_name(annotation: Any) -> str:
    kind, arguments = get_origin(annotation), get_args(annotation)
    if kind is Annotated:
        return _type_name(arguments[0])
    if kind is Literal:
        return " or ".join(f"`{json.dumps(value)}`" for value in arguments)
    if _is_union(annotation):
        return " or ".join(_type_name(part) for part in arguments if part is not type(None))
    if kind in (list, tuple):
        return "list of " + " and ".join(_type_name(part) for part in arguments if part is not ...)
    if kind is dict:
        return f"table of {_type_name(arguments[1])}"
    names = {int: "whole number", float: "number", str: "text", bool: "true or false"}
    return names.get(annotation) or re.sub(r"(?<=[a-z])(?=[A-Z])", " ", annotation.__name__).lower()


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "*required*"
    value = field.get_default(call_default_factory=True)
    if isinstance(value, BaseModel):
        return "its defaults"
    return "none" if value is None else f"`{json.dumps(value)}`"


def _cell(text: str) -> str:
    return html.escape(text, quote=False).replace("|", "&#124;").replace("\n", " ")


def _first_paragraph(kind: type) -> str:
    return (inspect.getdoc(kind) or "").partition("\n\n")[0]


def _command_line() -> str:
    import typer

    from postedit.cli.main import app

    parts = []
    for name, command in _commands(typer.main.get_command(app)):
        context = command.make_context(name, [], parent=None, resilient_parsing=True)
        usage = " ".join(["postedit", name, *map(_plain_usage, command.collect_usage_pieces(context))])
        rows = [f"| <code>{_cell(option)}</code> | {_cell(text)} |" for option, text in _parameters(command, context)]
        text = inspect.cleandoc(command.help or "").split("\f")[0]
        table = "\n".join(["| argument or option | meaning |", "|---|---|", *rows])
        parts.append(f"## postedit {name}\n\n```text\n{usage}\n```\n\n{text}\n\n{table}")
    return "\n\n".join(parts)


def _commands(group: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the commands of a group with their names, those of groups inside of it (`data stats`) too."""
    for name, command in sorted(group.commands.items()):
        if not hasattr(command, "commands") or command.invoke_without_command:
            yield f"{prefix}{name}", command
        if hasattr(command, "commands"):
            yield from _commands(command, f"{prefix}{name} ")


def _plain_usage(piece: str) -> str:
    """Return `MODEL...` for typer's `{MODEL}...`."""
    return re.sub(r"\{([\w.]+)\}", r"\1", piece)


def _parameters(command: Any, context: Any) -> Iterator[tuple[str, str]]:
    for parameter in command.params:
        shown = copy(parameter)
        shown.hidden = False  # `--help` leaves out what few people need
        record = shown.get_help_record(context)
        if record:
            yield record[0], record[1]


def _python(path: str) -> str:
    module, _, name = path.rpartition(".")
    thing = getattr(importlib.import_module(module), name)
    title, place = f"### {name}", f"from {module} import {name}"
    if inspect.isclass(thing) and issubclass(thing, BaseModel):
        return f"{title}\n\n```text\n{place}\n```\n\n{_sections(inspect.getdoc(thing) or '')}\n\n{_table(thing)}"
    parts = [_entry(title, f"{place}\n\n{name}", thing)]
    shown: dict[Any, str] = {}
    for member_name, member in vars(thing).items() if inspect.isclass(thing) else ():
        plain = member.__func__ if isinstance(member, (classmethod, staticmethod)) else member
        if not member_name.startswith("_") and inspect.isfunction(plain):
            title = f"#### {name}.{member_name}"
            entry = _entry(title, member_name, getattr(thing, member_name))
            parts.append(f"{title}\n\nThe same as `{shown[plain]}`." if plain in shown else entry)
            shown.setdefault(plain, f"{name}.{member_name}")
    return "\n\n".join(parts)


def _entry(title: str, name: str, thing: Any) -> str:
    fields = _commented_fields(thing) if dataclasses.is_dataclass(thing) else ""
    return f"{title}\n\n```text\n{name}{_signature(thing)}\n```\n\n{_sections(inspect.getdoc(thing) or '')}{fields}"


class _Plain:
    """A part of a signature that is shown as it is."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _signature(thing: Any) -> str:
    """Return the signature of a class or function, with types without their modules."""
    found, kept = inspect.signature(thing), []
    for one in found.parameters.values():
        default = _Plain("...") if inspect.isfunction(one.default) else one.default  # not the address of a function
        kept.append(one.replace(annotation=_plain(one.annotation), default=default))
    return _wrapped(str(found.replace(parameters=kept, return_annotation=_plain(found.return_annotation))))


def _wrapped(signature: str) -> str:
    """Return a signature with one parameter per line if it is too long for a line of the page."""
    if len(signature) <= _WIDTH:
        return signature
    lines, depth = [""], 0
    for mark in signature:
        depth += (mark in "([{") - (mark in ")]}")
        if depth == 0 and mark == ")" and len(lines) > 1:
            lines += [""]  # the return type goes on the line of the closing bracket
        lines[-1] += mark
        if depth == 1 and (mark == "," or lines == ["("]):
            lines += [""]
    first, *middle, last = lines
    return "\n".join([first, *(f"    {line.strip()}" for line in middle), last])


def _plain(annotation: Any) -> Any:
    if annotation is inspect.Signature.empty:
        return annotation
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return _Plain(re.sub(r"ForwardRef\('([^']*)'\)", r"\1", re.sub(r"\b(?:\w+\.)+(?=[A-Za-z_])", "", text)))


def _commented_fields(thing: Any) -> str:
    """Return the fields of a dataclass that a comment describes, beside or above them, as a Markdown list."""
    found, above = [], ""
    for line in inspect.getsource(thing).split("\n"):
        item = re.fullmatch(r" {4}(\w+): .*?(?:  # (.*))?", line)
        if item and (item[2] or above):
            found.append(f"- `{item[1]}`: {item[2] or above}")
        comment = re.fullmatch(r" {4}# (.*)", line)
        above = f"{above} {comment[1]}".strip() if comment else ""
    return "\n\n**Fields**\n\n" + "\n".join(found) if found else ""


def _sections(docstring: str) -> str:
    """Turn the Google-style sections of a docstring into Markdown lists."""
    lines: list[str] = []
    for line in docstring.split("\n"):
        item = re.match(r" {4}([\w., ]+): (.*)", line)
        if re.fullmatch(r"(Args|Raises|Returns|Yields):", line):
            lines += [f"**{line[:-1]}**", ""]
        elif item:
            lines.append(f"- `{item[1]}`: {item[2]}")
        else:
            lines.append(line.strip() if line.startswith("    ") else line)
    return "\n".join(lines)
