"""Options of `postedit edit` that contradict each other, do nothing, or cannot be met."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.cli.commands import Files, options, refused, search

from postedit.core.errors import DataError
from postedit.search import SearchConfig


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--beam", 2, "--n-best", 3, "--format", "jsonl"], "n_best must be between 1 and beam (2), not 3"),
        (search("post_edit_penalty=inf"), "search.post_edit_penalty: must be a finite number (found inf)"),
        (["--beam", 100_000], "search.beam: must be at most 10000 (found 100000)"),
        (search("beam=-1"), "search.beam: must be at least 1 (found -1)"),
        (search("beam=two"), "search.beam: must be a whole number (found 'two')"),
        (["--set", "beam=4"], 'beam: no such option; did you mean "search.beam"?'),
        (["--beam", 2, *search("beam=3")], "--beam 2 contradicts --set search.beam=3; give one of them"),
        (["--n-best", 2, *search("n_best=3")], "--n-best 2 contradicts --set search.n_best=3; give one of them"),
        (search("keep=1"), "search.keep is now search.post_edit_penalty"),
        (
            search("beams=1", "fast=1"),
            'search.beams: no such option; did you mean "beam"?; search.fast: no such option',
        ),
        (
            search("exempt_src=true"),
            "exempt_src names tokens that post_edit_penalty does not count; use both, or neither",
        ),
        (
            ["--beam", 1, *search("length_penalty=0.5")],
            "search.length_penalty ranks the outputs of a beam; set search.beam above 1",
        ),
        (
            ["--beam", 4, *search("shortlist=99")],
            "shortlist is for greedy search, and the beam is 4; use beam 1, or shortlist 0",
        ),
        (
            ["--beam", 1, *search("shortlist=99", "post_edit_penalty=1")],
            "search.shortlist cannot be combined with search.post_edit_penalty, which",
        ),
        (
            ["--set", "ensemble.space=probability"],
            "ensemble.space says what an ensemble averages: give several models with it",
        ),
    ],
)
def test_contradictory_or_idle_options_are_refused_before_work(
    run: Any, editor: Any, files: Files, given: list[Any], message: str
) -> None:
    result = run(*options(files, *given))
    assert (result.exit_code, result.stdout) == (1, "")
    assert message in " ".join(result.stderr.split())
    assert not list(files[2].parent.glob("x.out*"))


def test_options_outside_their_section_are_named(run: Any, editor: Any, files: Files, tmp_path: Path) -> None:
    (tmp_path / "search.toml").write_text("beam = 4\nfast = 1\n")
    result = run(*options(files, "--search", tmp_path / "search.toml"))
    assert 'beam: no such option; did you mean "search.beam"?' in refused(result)
    assert "fast: no such option" in result.stderr


def test_a_flag_takes_precedence_over_a_file(run: Any, editor: Any, files: Files, tmp_path: Path) -> None:
    (tmp_path / "search.toml").write_text("[search]\nbeam = 4\n")
    assert run(*options(files, "--search", tmp_path / "search.toml", "--beam", 2, *search("beam=2"))).exit_code == 0
    assert editor.searches == [SearchConfig(beam=2)]


@pytest.mark.parametrize(("beam", "warned"), [(100, False), (10_000, True)])
def test_a_very_wide_beam_is_warned_of(run: Any, editor: Any, files: Files, beam: int, warned: bool) -> None:
    result = run(*options(files, "--beam", beam))
    assert result.exit_code == 0
    assert ("rarely better than one of 10" in result.stderr) == warned


def test_a_shortlist_needs_a_draft(run: Any, editor: Any, files: Files) -> None:
    given = ["--beam", 1, "--set", "search.shortlist=9"]
    editor.can = replace(editor.can, needs_mt=False)
    without_mt = run("edit", "MODEL", "--src", files[0], "--out", files[2], *given)
    editor.can = replace(editor.can, drafts=False)
    for result in (without_mt, run(*options(files, *given))):
        assert "search.shortlist needs mt as a draft" in refused(result)
    assert not list(files[2].parent.glob("x.out*"))


@pytest.mark.parametrize("option", ["no_unk=true", "length_penalty=0.5"])
def test_options_of_token_search_need_one(run: Any, editor: Any, files: Files, option: str) -> None:
    editor.can = replace(editor.can, token_search=False)
    name, _ = option.split("=")
    assert f"search.{name}: no effect on an editor" in refused(run(*options(files, *search(option))))
    assert not list(files[2].parent.glob("x.out*")), "before work"
    editor.search = SearchConfig(beam=4, no_unk=True, length_penalty=0.5)
    assert run(*options(files, *search(option))).exit_code == 0


@pytest.mark.parametrize(
    ("own", "shortlist", "warning"),
    [
        (SearchConfig(beam=4), 9, "implies greedy search, in place of the model's own beam of 4"),
        (SearchConfig(beam=4, no_unk=True), 0, "search.no_unk, True in the model's own search options, ranks"),
        (SearchConfig(edit_cost=0.5), 0, "search.edit_cost, 0.5 in the model's own search options, ranks"),
    ],
)
def test_a_shortlist_is_not_refused_for_options_of_the_model(
    run: Any, editor: Any, files: Files, own: SearchConfig, shortlist: int, warning: str
) -> None:
    editor.search = own
    result = run(*options(files, "--set", "search.shortlist=9"))
    assert result.exit_code == 0
    assert warning in " ".join(result.stderr.split())
    assert editor.searches[0] == own.with_options(shortlist=shortlist, **({"beam": 1} if shortlist else {}))


def test_options_that_the_model_refuses_are_found_before_work(run: Any, editor: Any, files: Files) -> None:
    def refuse(settings: SearchConfig, *, with_mt: bool) -> None:
        raise DataError("cannot be written")

    editor.check = refuse
    assert "cannot be written" in run(*options(files)).stderr
    assert not list(files[2].parent.glob("x.out*"))


def test_scoring_refuses_passes(run: Any, editor: Any, files: Files) -> None:
    assert "--passes corrects corrections again" in refused(run(*options(files, "--force", files[1], "--passes", 2)))
    assert run(*options(files, "--force", files[1], "--passes", 1)).exit_code == 0


@pytest.mark.parametrize("given", [["--beam", 2], ["--set", "search.shortlist=9"], ["--set", "search.required=FILE"]])
def test_scoring_refuses_what_is_of_a_search(run: Any, editor: Any, files: Files, given: list[Any]) -> None:
    words = files[0].with_name("words")
    words.write_text("Haus\n")
    given = [str(part).replace("FILE", str(words)) for part in given]
    result = run(*options(files, "--force", files[1], *given))
    assert (result.exit_code, editor.loaded) == (1, [])
    assert "it cannot be combined with search." in " ".join(result.stderr.split())


@pytest.mark.parametrize("line", ["a\tb\tc", "a\t", "\tb"])
def test_a_line_that_is_no_term_is_named(run: Any, editor: Any, files: Files, tmp_path: Path, line: str) -> None:
    (tmp_path / "terms").write_text(f"good\n{line}\n")
    result = run(*options(files, "--set", f"search.required={tmp_path}/terms"))
    assert "terms, line 2: must be a word" in refused(result)
    assert editor.loaded == []


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ("[0.7]", "has 1 number for 2 models"),
        ("a,b", "ensemble.weights: must be a list"),
        ("[1,nan]", "ensemble.weights.1: must be a finite number"),
    ],
)
def test_weights_that_do_not_match_the_models(run: Any, editor: Any, weights: str, message: str) -> None:
    result = run("edit", "ONE", "TWO", "--set", f"ensemble.weights={weights}", stdin=b"a\tb\n")
    assert (result.exit_code, result.stdout, editor.loaded) == (1, "", [])
    assert message in result.stderr


def test_n_best_does_not_fit_into_lines_of_text(run: Any, editor: Any) -> None:
    assert "--format jsonl" in refused(run("edit", "MODEL", "--n-best", 2, stdin=b"a\tb\n"))


@pytest.mark.parametrize("missing", [("--mt", "x"), ("--resume",)])
def test_options_that_do_not_fit_together(run: Any, editor: Any, missing: Any) -> None:
    assert "--src" in refused(run("edit", "MODEL", *missing))
