"""The reading path names files that exist, says one sentence about each, and stays short."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/reading-path.md").read_text(encoding="utf-8")
MOST_LINES = 5_000

ITEM = re.compile(r"^(\d+)\. `([\w/]+\.py)`: (.*(?:\n {3,}\S.*)*)$", re.MULTILINE)
ENTRIES = [(int(number), path, " ".join(sentence.split())) for number, path, sentence in ITEM.findall(PAGE)]


def test_every_numbered_item_is_an_entry_in_order() -> None:
    items = re.findall(r"^\d+\.", PAGE, re.MULTILINE)
    assert len(ENTRIES) == len(items) > 20
    assert [number for number, _, _ in ENTRIES] == list(range(1, len(ENTRIES) + 1))
    assert len({path for _, path, _ in ENTRIES}) == len(ENTRIES)


def test_files_exist_and_sum_to_at_most_5000_lines() -> None:
    files = [ROOT / "src/postedit" / path for _, path, _ in ENTRIES]
    missing = [str(file) for file in files if not file.is_file()]
    assert not missing
    lines = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)
    assert lines <= MOST_LINES


def test_files_outside_the_count_have_about_the_number_of_lines_given() -> None:
    given = re.findall(r"`([\w/]+\.py)` \((\d+)(?: lines)?\)", PAGE)
    found = [(path, len((ROOT / "src/postedit" / path).read_text(encoding="utf-8").splitlines())) for path, _ in given]
    assert {"text/processor.py", "editing/constraints.py", "data/collate.py", "train/loop.py"} <= {*dict(given)}
    assert [(path, lines) for (path, lines), (_, number) in zip(found, given) if abs(lines - int(number)) > 30] == []


def test_each_file_has_exactly_one_sentence() -> None:
    wrong = [
        path for _, path, sentence in ENTRIES if not sentence.endswith(".") or re.search(r"[.!?]\)? [A-Z]", sentence)
    ]
    assert not wrong


def test_path_covers_interface_models_search_update_editor_and_score() -> None:
    paths = {path for _, path, _ in ENTRIES}
    assert {"core/types.py", "core/model.py", "train/update.py"} <= paths
    for folder in ("models", "nn", "search", "editing", "evaluate"):
        assert any(path.startswith(f"{folder}/") for path in paths), folder


class TestGlossary:
    """Each module that the glossary names exists, and each citation is in its list of references."""

    text = (ROOT / "docs/reference/glossary.md").read_text(encoding="utf-8")

    def test_modules_exist(self) -> None:
        modules = set(re.findall(r"`([\w/]+\.py)`", self.text))
        missing = [module for module in sorted(modules) if not (ROOT / "src/postedit" / module).is_file()]
        assert len(modules) > 50
        assert not missing

    def test_citations_and_references_agree(self) -> None:
        entries, references = self.text.split("## References")
        listed = set(re.findall(r"^- (?:do )?([\w-]+).*? (\d{4})\. ", references, re.MULTILINE))
        name = r"(?:do )?([A-Z][\w-]+)(?: [A-Z]\w+)?"
        cited = set(re.findall(rf"{name}(?: et al\.| and [A-Z][\w-]+)? (\d{{4}})", " ".join(entries.split())))
        assert cited == listed
