"""Finds the fenced code blocks of a Markdown page and runs them as a reader would: in order, in one folder.

Every ```bash and ```python block is run. Comments on the line before a block say otherwise:

    <!-- not run: why -->                    the block only illustrates (it needs a network, a GPU, hours)
    <!-- run with: `old` -> `new` -->        the same block on a smaller budget; may be given several times
    <!-- printed -->                         the block is what the one before it prints, to the letter
"""

import contextlib
import io
import os
import re
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*).*$")
_NOT_RUN = re.compile(r"<!-- not run: .+ -->")
_PRINTED = "<!-- printed -->"
PROGRAMS = Path(sys.executable).parent
_RUN_WITH = re.compile(r"<!-- run with: `(.+)` -> `(.*)` -->")


@dataclass(frozen=True)
class Block:
    """One block to run: where its first line of code is, its language, its code and, if the page has it, its output."""

    page: Path
    line: int
    language: str
    code: str
    printed: str | None = None

    def __str__(self) -> str:
        return f"{self.page}:{self.line} ({self.language})"


def runnable_blocks(page: Path) -> list[Block]:
    """Return the blocks of `page` that are to be run, in order, on the budget that their comments give.

    Raises:
        ValueError: if a replacement finds nothing to replace, or a fence is never closed.
    """
    blocks: list[Block] = []
    comments: list[str] = []
    lines = iter(enumerate(page.read_text(encoding="utf-8").split("\n"), 1))
    for _, line in lines:
        fence = _FENCE.match(line)
        if not fence:
            comments = [*comments, line] if line.strip().startswith("<!--") else comments if not line.strip() else []
            continue
        first, code = _code_until_close(page, lines, fence["indent"])
        wanted = fence["language"] in ("bash", "python") and not any(map(_NOT_RUN.search, comments))
        if wanted:
            blocks.append(Block(page, first, fence["language"], _smaller(page, first, code, comments)))
        elif _PRINTED in comments:
            blocks[-1] = replace(blocks[-1], printed=code)
        comments = []
    return blocks


def _code_until_close(page: Path, lines: Any, indent: str) -> tuple[int, str]:
    code: list[str] = []
    first = 0
    for number, line in lines:
        first = first or number
        if line.strip() == "```":
            return first, "\n".join(code)
        code.append(line.removeprefix(indent))
    raise ValueError(f"{page}:{first}: this block is never closed")


def _smaller(page: Path, line: int, code: str, comments: list[str]) -> str:
    for old, new in (match.groups() for match in map(_RUN_WITH.search, comments) if match):
        if old not in code:
            raise ValueError(f"{page}:{line}: the comment replaces `{old}`, which this block does not have")
        code = code.replace(old, new)
    return code


def run_block(block: Block, folder: Path, names: dict[str, Any], programs: Path = PROGRAMS) -> str:
    """Run `block` in `folder` and return what it printed; Python blocks of a page share `names`.

    `programs` is the folder of the `postedit` and `python` to run.

    Raises:
        AssertionError: if it fails, with its output, or the page has another output.
    """
    printed = _run(block, folder, names, programs)
    if block.printed is not None:
        assert printed.rstrip("\n") == block.printed, f"{block} printed {printed!r}"
    return printed


def _run(block: Block, folder: Path, names: dict[str, Any], programs: Path) -> str:
    if block.language == "python":
        printed = io.StringIO()
        with contextlib.chdir(folder), contextlib.redirect_stdout(printed):
            exec(compile(block.code, str(block), "exec"), names)
        return printed.getvalue()
    path = os.pathsep.join([str(programs), str(PROGRAMS), os.environ.get("PATH", "")])
    script = f"set -euo pipefail\n{block.code}\n"
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path, "COLUMNS": "120"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, f"{block} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout
