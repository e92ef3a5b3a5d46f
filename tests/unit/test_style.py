"""Names and docstrings keep the rules of CONTRIBUTING. The bounds on old violations may only go down."""

import ast
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


def parsed(folder: Path) -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(folder.rglob("*.py")):
        yield path.relative_to(ROOT).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def functions(module: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(module) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def long_test_names() -> list[str]:
    return [
        f"{path}: {function.name}"
        for path, module in parsed(ROOT / "tests")
        for function in functions(module)
        if function.name.startswith("test_") and len(function.name) >= 70
    ]


def repeated_basenames() -> list[str]:
    modules = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        modules[path.name].append(path.relative_to(PACKAGE).as_posix())
    return [" ".join(paths) for name, paths in modules.items() if len(paths) > 1 and name not in SIBLINGS]


def repeated_class_names() -> list[str]:
    classes = defaultdict(list)
    for path, module in parsed(PACKAGE):
        for node in ast.walk(module):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes[node.name].append(path)
    return [f"{name}: {' '.join(paths)}" for name, paths in classes.items() if len(paths) > 1 and name not in CLASSES]


def short_modules() -> list[str]:
    """Return modules, apart from those that make a folder a package, and migrations, that might join others."""
    paths = [path for path, _ in parsed(PACKAGE) if not path.endswith("__init__.py") and "/versions/" not in path]
    return [path for path in paths if len((ROOT / path).read_text(encoding="utf-8").splitlines()) < 50]


def vague_docstrings() -> list[str]:
    found = []
    for path, module in parsed(PACKAGE):
        for function in functions(module):
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
