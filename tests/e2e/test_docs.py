"""The code blocks of the README and of the documentation do what a reader is told they do."""

import importlib.util
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import doc_blocks
import pytest
import typer
from stub_server import Stub

from postedit.cli.main import app
from postedit.llm.endpoint_options import LlmConfig
from postedit.models import ARCHITECTURES
from postedit.serve.settings import AuthConfig, LimitsConfig, LogConfig, ServedModel
from postedit.synthesis.kinds import KINDS

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    *(path.relative_to(ROOT).as_posix() for path in sorted(ROOT.glob("docs/**/*.md"))),
]
# Pages that train or make so much that they take tens of seconds on a slow machine.
LONG = re.compile(
    "README|tutorial|own-data|translation-files|clean|stages|-triplets|recipes|explain|resume|speed|corrections-count|phrase|llm"
    "|assess"
)

# What the pages run on is real but small, so that a page takes seconds.
LINES = {"train": 200, "dev": 3, "test": 5}
SIZES = {
    **dict.fromkeys(("layers_src", "layers_mt", "layers_pe", "layers_joint", "layers_encoder"), 1),
    **dict.fromkeys(("dim", "feed_forward", "embedding", "hidden", "attention", "maxout"), 32),
    "heads": 2,
    "batch_tokens": 1000,
    "size": 400,
}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that looks to a reader like a checkout, of fewer lines and small models; it keeps what pages make."""
    folder = tmp_path_factory.mktemp("checkout")
    recipes = folder / "recipes"
    recipes.mkdir()
    shutil.copytree(ROOT / "recipes/clean", recipes / "clean")
    for path in (ROOT / "recipes").glob("*.toml"):
        small = path.read_text(encoding="utf-8")
        for option, value in SIZES.items():
            small = re.sub(rf"(?m)^{option} = .*$", f"{option} = {value}", small)
        (recipes / path.name).write_text(small, encoding="utf-8")
    shutil.copytree(ROOT / "recipes/synth", recipes / "synth")
    for path in (ROOT / "examples").glob("mlqe-pe.*/*.[smp][rte]*"):
        sample = folder / "examples" / path.parent.name
        sample.mkdir(parents=True, exist_ok=True)
        lines = path.read_text(encoding="utf-8").split("\n")[: LINES[path.stem]]
        (sample / path.name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def test_the_home_page_and_the_menu_list_every_how_to() -> None:
    home, menu = ((ROOT / name).read_text(encoding="utf-8") for name in ("docs/index.md", "mkdocs.yml"))
    for page in sorted(path.name for path in (ROOT / "docs/how-to").glob("*.md")):
        assert f"(how-to/{page})" in home, page
        assert f": how-to/{page}\n" in menu, page


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The endpoint of the pages, at which a stub corrects."""
    with Stub() as stub, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", stub.url)
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def run_page(checkout: Path, endpoint: None, programs: Path) -> Callable[[str], None]:
    """Runs the blocks of a page."""

    def run(page: str) -> None:
        names: dict[str, Any] = {"__name__": "__main__"}
        for block in doc_blocks.runnable_blocks(ROOT / page):
            doc_blocks.run_block(block, checkout, names, programs)

    return run


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.slow] if LONG.search(page) else [])
        for page in PAGES
        if doc_blocks.runnable_blocks(ROOT / page)
    ],
)
def test_blocks_of_page_run(page: str, run_page: Callable[[str], None]) -> None:
    run_page(page)


@pytest.mark.parametrize("page", [*PAGES, "CHANGELOG.md"])
def test_relative_links_lead_somewhere(page: str) -> None:
    path = ROOT / page
    links = re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)", path.read_text(encoding="utf-8"))
    missing = [link for link in links if not (path.parent / link).exists()]
    assert not missing


@pytest.mark.slow
def test_site_builds_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    config = load_config(str(ROOT / "mkdocs.yml"), strict=True, site_dir=str(tmp_path))
    config.plugins.on_startup(command="build", dirty=False)
    build(config)  # warnings are errors
    loads = re.compile(
        r'<(?:script|img|iframe)[^>]* src="(https?://[^"]+)|<link rel="stylesheet" href="(https?://[^"]+)'
    )
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > len(list((ROOT / "docs").rglob("*.md"))) // 2
    assert [hit for page in pages for hit in loads.findall(page.read_text(encoding="utf-8"))] == []


def load_hook() -> Any:
    spec = importlib.util.spec_from_file_location("reference_hook", ROOT / "docs/reference_hook.py")
    assert spec is not None
    assert spec.loader is not None
    hook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)
    return hook


def test_reference_lists_every_recipe_option() -> None:
    hook = load_hook()
    page = hook.on_page_markdown("<!-- reference: recipe -->")
    assert all(f"## `[{name}]`" in page for name in ("text", "data", "train", "search", "draft", "[stage]"))
    assert all(f'name = "{name}"' in page for name in ARCHITECTURES)
    assert all(f'kind = "{name}"' in page for name in KINDS)
    nested = ("hints.examples", "train.weight", "risk.weight", "translator.kind", "corpus.share", "lora_rank")
    assert all(f"| `{name}` |" in page for name in nested)
    assert "| `network` |" not in page, "it is read from a checkpoint"
    empty = re.findall(r"^\| `([\w.]+)` .*\|\s*\|$", page, re.MULTILINE)
    assert not empty, f"these options say nothing of themselves: {empty}"


def test_reference_lists_every_setting_of_the_service() -> None:
    page = load_hook().on_page_markdown("<!-- reference: settings -->")
    sections = {"auth.": AuthConfig, "limits.": LimitsConfig, "log.": LogConfig, "llm.": LlmConfig, "": ServedModel}
    missing = [
        f"{at}{name}" for at, kind in sections.items() for name in kind.model_fields if f"`{at}{name}`" not in page
    ]
    assert not missing
    assert all(f"`learning.{name}`" in page for name in ("phrases.tokenizer", "online.watched", "nearest.least"))


def test_reference_shows_signatures_as_python_reads_them() -> None:
    names = ("adapt.load_learning", "jobs.assessment.assess")
    page = load_hook().on_page_markdown(" ".join(f"<!-- reference: python postedit.{name} -->" for name in names))
    assert "from postedit.adapt import load_learning\n\nload_learning(\n    model: str | Path,\n" in page
    assert "\n    learn: Literal['auto', 'online', 'nearest', 'examples'] = 'auto',\n" in page
    assert "\n    author: str = ''\n) -> Remembering\n" in page
    assert " at 0x" not in page


def test_reference_describes_a_method_with_two_names_once() -> None:
    page = load_hook().on_page_markdown("<!-- reference: python postedit.PostEditor -->")
    assert "#### PostEditor.from_pretrained\n\nThe same as `PostEditor.load`.\n" in page


def test_reference_lists_every_command_and_cleaning_option() -> None:
    hook = load_hook()
    page = hook.on_page_markdown("<!-- reference: cli -->")
    assert all(f"## postedit {name}\n" in page for name in ("train", "data stats", "data clean", "models"))
    assert all(f"<code>--{name}" in page for name in ("n-best", "passes", "force", "estimate", "learn", "help-search"))
    hidden = [one for one in typer.main.get_command(app).commands["edit"].params if getattr(one, "hidden", False)]
    assert hidden, "the page shows them, and leaves the command as it is"
    options = hook.on_page_markdown("<!-- reference: clean -->")
    assert all(f"`{name}`" in options for name in ("length.max", "language.margin", "near_duplicates.on", "truecase"))
    assert not re.findall(r"^\| `([\w.]+)` .*\|\s*\|$", options, re.MULTILINE)


class TestHarness:
    """The harness itself fails where a page is wrong."""

    def page(self, folder: Path, text: str) -> Path:
        path = folder / "page.md"
        path.write_text(text, encoding="utf-8")
        return path

    def test_finds_blocks_with_their_lines_and_budget(self, tmp_path: Path) -> None:
        page = self.page(
            tmp_path,
            "<!-- run with: `300` -> `1` -->\n```bash\nsleep 300\n```\n"
            "<!-- not run: needs hours -->\n```bash\nfalse\n```\n"
            "```text\nnot code\n```\n\n1. x\n\n    ```python\n    y = 1\n    ```\n",
        )
        blocks = doc_blocks.runnable_blocks(page)
        assert [(block.line, block.language, block.code) for block in blocks] == [
            (3, "bash", "sleep 1"),
            (16, "python", "y = 1"),
        ]

    def test_replacement_that_matches_nothing_is_an_error(self, tmp_path: Path) -> None:
        page = self.page(tmp_path, "<!-- run with: `a` -> `b` -->\n```bash\ntrue\n```\n")
        with pytest.raises(ValueError, match=r"page.md:3: .*`a`"):
            doc_blocks.runnable_blocks(page)

    @pytest.mark.parametrize(
        ("code", "status"),
        [
            ("print(input())", 0),
            ("raise SystemExit(3)", 3),
            ("raise SystemExit('a message')", 1),
            ("1 / 0", 1),
            ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ],
    )
    def test_forks_end_as_other_processes_do(self, programs: Path, tmp_path: Path, code: str, status: int) -> None:
        for program in (str(programs / "python"), sys.executable):
            done = subprocess.run([program, "-c", code], input="a\n", capture_output=True, text=True, cwd=tmp_path)
            assert (done.returncode, done.stdout) == (status, "" if status else "a\n")
            assert ("ZeroDivisionError" in done.stderr) == ("/ 0" in code)

    def test_failing_blocks_fail(self, tmp_path: Path) -> None:
        blocks = doc_blocks.runnable_blocks(self.page(tmp_path, "```bash\nfalse | true\n```\n```python\n1 / 0\n```\n"))
        with pytest.raises(AssertionError, match="ended with 1"):
            doc_blocks.run_block(blocks[0], tmp_path, {})
        with pytest.raises(ZeroDivisionError):
            doc_blocks.run_block(blocks[1], tmp_path, {})

    def test_other_outputs_than_on_the_page_fail(self, tmp_path: Path) -> None:
        page = self.page(
            tmp_path, "".join(f"```bash\necho {x}\n```\n\n<!-- printed -->\n```text\na\n```\n" for x in "ab")
        )
        right, wrong = doc_blocks.runnable_blocks(page)
        assert doc_blocks.run_block(right, tmp_path, {}) == "a\n"
        with pytest.raises(AssertionError, match=r"printed 'b\\n'"):
            doc_blocks.run_block(wrong, tmp_path, {})

    def test_python_blocks_of_a_page_share_names_and_folder(self, tmp_path: Path) -> None:
        page = self.page(
            tmp_path, "```python\nx = 2\n```\n```bash\necho hi > f\n```\n```python\nprint(x, open('f').read())\n```\n"
        )
        names: dict[str, Any] = {}
        printed = [doc_blocks.run_block(block, tmp_path, names) for block in doc_blocks.runnable_blocks(page)]
        assert printed[-1] == "2 hi\n\n"
