"""Names and docstrings keep the rules of CONTRIBUTING. The bounds on old violations may only go down."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src/postedit"

SIBLINGS = {
    "__init__.py": "one in each package",
    "config.py": "the options of a package",
    "transformer.py": "the layers, and the model made of them",
    "memory.py": "what a decoder attends to, and the command for memories of corrections",
    "gate.py": "the command, and the package of that name",
}
"""Basenames that several modules of the package may have, and why."""

CLASSES: dict[str, str] = {}
"""Public class names that several modules may define, and why."""

WHOLE_REPOSITORY = {"test_imports.py", "test_reading_path.py", "test_style.py"}
"""Test files in tests/unit that belong to no module."""

VAGUE = {"What", "Whether", "How", "Where", "Who", "Why"}
"""First words of a docstring that does not say what the function does."""

# Parsing all files would take seconds.
LONG_TEST = re.compile(r"def (test_\w{65,})")
PUBLIC_CLASS = re.compile(r"^ *class ([A-Za-z]\w*)[\[(:]", re.MULTILINE)
VAGUE_START = re.compile(rf'"""\s*(?:{"|".join(VAGUE)})\s')


def texts(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.rglob("*.py")):
        yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def long_test_names() -> list[str]:
    return [f"{path}: {name}" for path, text in texts(ROOT / "tests") for name in LONG_TEST.findall(text)]


def repeated_basenames() -> list[str]:
    modules = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        modules[path.name].append(path.relative_to(PACKAGE).as_posix())
    return [" ".join(paths) for name, paths in modules.items() if len(paths) > 1 and name not in SIBLINGS]


def repeated_class_names() -> list[str]:
    classes = defaultdict(list)
    for path, text in texts(PACKAGE):
        for name in PUBLIC_CLASS.findall(text):
            classes[name].append(path)
    return [f"{name}: {' '.join(paths)}" for name, paths in classes.items() if len(paths) > 1 and name not in CLASSES]


def short_modules() -> list[str]:
    """Return modules, apart from those that make a folder a package, and migrations, that might join others."""
    modules = [one for one in texts(PACKAGE) if not one[0].endswith("__init__.py") and "/versions/" not in one[0]]
    return [path for path, text in modules if len(text.splitlines()) < 50]


def vague_docstrings() -> list[str]:
    found = []
    for path, text in texts(PACKAGE):
        for function in ast.walk(ast.parse(text)) if VAGUE_START.search(text) else ():
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                is_property = any("property" in ast.unparse(decorator) for decorator in function.decorator_list)
                words = (ast.get_docstring(function) or "").split()
                if words and words[0] in VAGUE and not is_property:
                    found.append(f"{path}:{function.lineno}: {function.name}")
    return found


def unmirrored_test_files() -> list[str]:
    found = []
    for path in sorted((ROOT / "tests/unit").rglob("test_*.py")):
        folder = PACKAGE / path.relative_to(ROOT / "tests/unit").parent
        modules = {folder.name, *(module.stem for module in folder.glob("*") if module.suffix in ("", ".py"))}
        tested = path.stem.removeprefix("test_")
        if path.name not in WHOLE_REPOSITORY and not any(f"{tested}_".startswith(f"{name}_") for name in modules):
            found.append(path.relative_to(ROOT).as_posix())
    return found


@pytest.mark.parametrize(
    ("violations", "bound"),
    [
        (long_test_names, 0),
        (unmirrored_test_files, 0),
        (repeated_basenames, 0),
        (repeated_class_names, 0),
        (short_modules, 6),
        (vague_docstrings, 0),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_style_violations_do_not_exceed_their_bound(violations, bound: int) -> None:
    found = violations()
    assert len(found) <= bound, "\n".join(found)


@pytest.mark.parametrize("name", SIBLINGS)
def test_modules_listed_as_siblings_exist(name: str) -> None:
    assert len(list(PACKAGE.rglob(name))) > 1
