"""Load an editor of one's own by name, so that commands and the service accept it in place of a model."""

import importlib
import inspect
import sys
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType

from postedit.core.editor import OWN_EDITOR, Editor
from postedit.core.errors import DataError, nearest


def load_own_editor(name: str) -> Editor:
    """Import the editor that `python:MODULE:NAME` names, and make sure that it is one.

    MODULE is searched for like any import, and in the working directory last. NAME is an `Editor`, or a class or
    function that returns one when it is called without arguments. Importing runs the module: names come only from the
    command line and from the settings of the service, never from a model folder or a request. What the module prints
    then goes to standard error, because standard output is for corrections.

    Raises:
        DataError: if the name is not of this form, there is no such module or no such name in it, the module imports
            one that is missing or ends the program, or what it names is not an `Editor`. Any other error of the module
            is passed on.
    """
    module_name, _, attribute = name.removeprefix(OWN_EDITOR).partition(":")
    parts = module_name.split(".")
    if not all(part.isidentifier() for part in [*parts, attribute]):
        raise DataError(f"{name}: write {OWN_EDITOR}MODULE:NAME, such as {OWN_EDITOR}my_rules:editor for my_rules.py")
    try:
        with redirect_stdout(sys.stderr):
            return _editor_in(_imported(name, module_name), name, attribute)
    except SystemExit as error:  # passed on, it would end a command without output, as if all had gone well
        raise DataError(
            f"{name}: {module_name} ends the program when it is loaded; put what it does as a script under "
            'if __name__ == "__main__":'
        ) from error


def _imported(name: str, module_name: str) -> ModuleType:
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.append(here)
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        missing, parts = error.name or module_name, module_name.split(".")
        if missing in (".".join(parts[: number + 1]) for number in range(len(parts))):
            raise DataError(
                f"{name}: there is no module {missing} in {here} or among the installed packages; go to its folder, or "
                "add this folder to PYTHONPATH"
            ) from None
        raise DataError(f"{name}: {module_name} imports {missing}, which is not installed") from error


def _editor_in(module: ModuleType, name: str, attribute: str) -> Editor:
    if not hasattr(module, attribute):
        names = [one for one in vars(module) if not one.startswith("_")]
        raise DataError(f"{name}: {module.__name__} ({_place(module)}) has no {attribute}{nearest(attribute, names)}")
    found = getattr(module, attribute)
    editor = found() if callable(found) and not isinstance(found, Editor) and not _needs(found) else found
    if not isinstance(editor, Editor):
        why = f"{editor!r:.80} ({_needs(found) or type(editor).__name__})"
        raise DataError(
            f"{name}: must be an Editor, or a class or function that returns one without arguments, not {why}"
        )
    return editor


def _place(module: ModuleType) -> str:
    """Return where a module was found, which tells if it is another one of the same name."""
    return getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", ())), "built into Python")


def _needs(found: object) -> str:
    """Return what a class or function needs before it can be called without arguments; empty if nothing."""
    if not callable(found):
        return ""
    if missing := sorted(getattr(found, "__abstractmethods__", ())):
        return f"without {', '.join(missing)}"
    try:
        inspect.signature(found).bind()
    except TypeError as error:
        return str(error)
    except ValueError:  # it has no signature, as some that are written in C
        return ""
    return ""
