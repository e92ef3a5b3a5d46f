import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from postedit.core.errors import DataError
from postedit.core.search_config import Term
from postedit.search import SearchConfig

Files = tuple[Path, Path, Path]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    src, mt, out = tmp_path / "x.src", tmp_path / "x.mt", tmp_path / "x.out"
    src.write_text("".join(f"source {n}\n" for n in range(7)))
    mt.write_text("".join(f"mt {n}\n" for n in range(7)))
    return src, mt, out


def options(files: Files, *more: object) -> list[object]:
    src, mt, out = files
    return ["edit", "MODEL", "--src", src, "--mt", mt, "--out", out, *more]


EXPECTED = "".join(f"mt {n}!\n" for n in range(7))


def test_lines_keep_order_and_number_over_chunks(run: Any, editor: Any, files: Files) -> None:
    result = run(*options(files, "--set", "chunk_lines=3"))
    assert result.exit_code == 0
    assert files[2].read_text() == EXPECTED
    assert [len(call) for call in editor.calls] == [3, 3, 1]
    assert sorted(path.name for path in files[2].parent.iterdir()) == ["x.mt", "x.out", "x.src"]
    assert "7 lines, 7 changed" in result.stderr


def test_options_reach_the_editor(run: Any, editor: Any, files: Files) -> None:
    run(*options(files, "--beam", 3, "--set", "search.batch_tokens=99", "--format", "jsonl", "--n-best", 2))
    search = SearchConfig(beam=3, n_best=2, batch_tokens=99)
    assert editor.searches == [search]
    assert editor.checked == [(search, True)]
    assert editor.loaded == [("MODEL",)]


def test_options_of_the_search_reach_the_editor(run: Any, editor: Any, files: Files, tmp_path: Path) -> None:
    banned, required = tmp_path / "banned", tmp_path / "required"
    banned.write_text("Handy\n\n das ist \n")
    required.write_text("hello\tHallo Welt\nimmer\n\n")
    numbers = [
        "--set",
        "search.post_edit_penalty=0.5",
        "--set",
        "search.edit_cost=1.5",
        "--set",
        "search.max_edits=2",
        "--set",
        "search.no_repeat=3",
        "--set",
        "search.length_penalty=0.6",
    ]
    words = [
        "--set",
        "search.exempt_src=true",
        "--set",
        "search.no_unk=true",
        "--set",
        "search.normalisation=wu",
        "--set",
        f"search.banned={banned}",
        "--set",
        f"search.required={required}",
    ]
    run(*options(files, *numbers, *words))
    assert editor.searches[0] == SearchConfig(
        beam=4,
        post_edit_penalty=0.5,
        exempt_src=True,
        edit_cost=1.5,
        max_edits=2,
        no_repeat=3,
        no_unk=True,
        length_penalty=0.6,
        normalisation="wu",
        banned=("Handy", "das ist"),
        required=(Term(target="Hallo Welt", source="hello"), Term(target="immer")),
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--beam", 2, "--n-best", 3, "--format", "jsonl"], "n_best must be between 1 and beam (2), not 3"),
        (["--set", "search.post_edit_penalty=inf"], "post_edit_penalty: Input should be a finite number (found inf)"),
        (["--set", "search.length_penalty=inf"], "length_penalty: Input should be a finite number (found inf)"),
        (["--beam", 100_000], "beam: Input should be less than or equal to 10000 (found 100000)"),
        (["--set", "search.keep=1"], "search.keep is now search.post_edit_penalty"),
        (
            ["--set", "search.beams=1", "--set", "search.fast=1"],
            'search.beams: no such option; did you mean "beam"?; search.fast: no such option',
        ),
        (
            ["--set", "search.exempt_src=true"],
            "exempt_src names tokens that post_edit_penalty does not count; use both, or neither",
        ),
        (["--set", "search.exempt_src=true", "--set", "search.post_edit_penalty=0"], "use both, or neither"),
        (
            ["--beam", 1, "--set", "search.length_penalty=0.5"],
            "search.length_penalty ranks the outputs of a beam; set search.beam above 1",
        ),
        (
            ["--beam", 1, "--set", "search.normalisation=wu"],
            "search.normalisation ranks the outputs of a beam; set search.beam above 1",
        ),
        (
            ["--beam", 4, "--set", "search.shortlist=99"],
            "shortlist is for greedy search, and the beam is 4; use beam 1, or shortlist 0",
        ),
        (
            ["--beam", 1, "--set", "search.shortlist=99", "--set", "search.post_edit_penalty=1"],
            "search.shortlist does not go with search.post_edit_penalty: that",
        ),
        (
            ["--beam", 1, "--set", "search.shortlist=99", "--set", "search.no_unk=true"],
            "search.shortlist does not go with search.no_unk: that",
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


@pytest.mark.parametrize(
    "given",
    [
        ["--beam", 1, "--set", "search.shortlist=9"],
        ["--set", "search.shortlist=0"],
        ["--set", "search.exempt_src=true", "--set", "search.post_edit_penalty=1"],
    ],
)
def test_options_that_go_together(run: Any, editor: Any, files: Files, given: list[Any]) -> None:
    assert run(*options(files, *given)).exit_code == 0


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
        assert result.exit_code == 1
        assert "search.shortlist needs mt as a draft" in result.stderr
    assert not list(files[2].parent.glob("x.out*"))


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


@pytest.mark.parametrize(
    "given",
    [
        ["--beam", 2],
        ["--n-best", 2],
        ["--set", "search.post_edit_penalty=0"],
        ["--set", "search.no_unk=true"],
        ["--set", "search.shortlist=9"],
        ["--set", "search.required=FILE"],
    ],
)
def test_scoring_refuses_what_is_of_a_search(run: Any, editor: Any, files: Files, given: list[Any]) -> None:
    words = files[0].with_name("words")
    words.write_text("Haus\n")
    given = [str(part).replace("FILE", str(words)) for part in given]
    result = run(*options(files, "--force", files[1], *given))
    assert (result.exit_code, editor.loaded) == (1, [])
    assert "it does not go with search." in " ".join(result.stderr.split())


@pytest.mark.parametrize("line", ["a\tb\tc", "a\t", "\tb"])
def test_a_line_that_is_no_term_is_named(run: Any, editor: Any, files: Files, tmp_path: Path, line: str) -> None:
    (tmp_path / "terms").write_text(f"good\n{line}\n")
    result = run(*options(files, "--set", f"search.required={tmp_path}/terms"))
    assert result.exit_code == 1
    assert "terms, line 2: must be a word" in result.stderr
    assert editor.loaded == []


def test_lines_that_cannot_be_written_are_counted_with_the_first_one(run: Any, editor: Any) -> None:
    result = run("edit", "MODEL", "--set", "chunk_lines=1", stdin=b"a\tb\na\timpossible\na\timpossible\n")
    assert result.stdout == "b!\nimpossible\nimpossible\n"
    assert "warning: lines 2, 3: not edited, because no output was found" in result.stderr


def test_several_models_make_an_ensemble(run: Any, editor: Any) -> None:
    run("edit", "ONE", "TWO", stdin=b"a\tb\n")
    assert editor.loaded == [("ONE", "TWO")]


def test_weights_and_space_of_an_ensemble(run: Any, editor: Any) -> None:
    run(
        "edit",
        "ONE",
        "TWO",
        "--set",
        "ensemble.weights=[0.7,0.3]",
        "--set",
        "ensemble.space=probability",
        stdin=b"a\tb\n",
    )
    assert (editor.load_options["weights"], editor.load_options["space"]) == ([0.7, 0.3], "probability")


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ("[0.7]", "has 1 numbers for 2 models"),
        ("[1,2,3]", "has 3 numbers for 2 models"),
        ("a,b", "ensemble.weights: Input should be a valid list"),
        ("[1,nan]", "ensemble.weights.1: Input should be a finite number"),
        ("[1,inf]", "ensemble.weights.1: Input should be a finite number"),
    ],
)
def test_weights_that_do_not_match_the_models(run: Any, editor: Any, weights: str, message: str) -> None:
    result = run("edit", "ONE", "TWO", "--set", f"ensemble.weights={weights}", stdin=b"a\tb\n")
    assert (result.exit_code, result.stdout, editor.loaded) == (1, "", [])
    assert message in result.stderr


def test_given_outputs_are_scored_and_not_written_anew(run: Any, editor: Any, files: Files) -> None:
    given = files[0].with_name("x.given")
    given.write_text("".join(f"mt {n % 2 * n}\n" for n in range(7)))
    result = run(*options(files, "--force", given, "--set", "chunk_lines=3"))
    assert result.exit_code == 0, result.stderr
    lines = [json.loads(line) for line in files[2].read_text().splitlines()]
    assert [line["text"] for line in lines] == given.read_text().splitlines()
    assert [line["changed"] for line in lines] == [False, False, True, False, True, False, True]
    assert lines[0]["score"] == -4.0
    assert lines[0]["token_scores"] == [-1.0, -0.5]
    assert lines[0]["features"] == {"model 1": -2.0}
    assert [len(call) for call in editor.calls] == [3, 3, 1]


def test_scoring_goes_on_after_an_interruption_where_it_stopped(run: Any, editor: Any, files: Files) -> None:
    given = files[0].with_name("x.given")
    given.write_text("".join(f"given {n}\n" for n in range(7)))
    score = editor.score_segments

    def interrupted(segments: Any, outputs: Any, **settings: Any) -> Any:
        if "given 3" in outputs:
            raise KeyboardInterrupt
        return score(segments, outputs, **settings)

    editor.score_segments = interrupted
    assert run(*options(files, "--force", given, "--set", "chunk_lines=3")).exit_code == 130
    editor.score_segments = score
    assert run(*options(files, "--force", given, "--resume")).exit_code == 0
    assert [json.loads(line)["text"] for line in files[2].read_text().splitlines()] == given.read_text().splitlines()


def test_given_outputs_that_do_not_match_the_lines(run: Any, editor: Any, files: Files) -> None:
    given = files[0].with_name("x.given")
    given.write_text("one\n")
    result = run(*options(files, "--force", given))
    assert (result.exit_code, editor.loaded) == (1, [])
    assert "x.given has 1; they must match one to one" in result.stderr
    result = run("edit", "MODEL", "--force", given, stdin=b"a\tb\n")
    assert "--force needs --src" in result.stderr


def test_stdin_to_stdout_keeps_odd_characters(run: Any, editor: Any) -> None:
    text = "s\tsame \u2028 \x0b \x85 \U0001f600  two\r\ns\tb\ns\tsame last"
    result = run("edit", "MODEL", stdin=text.encode())
    assert result.exit_code == 0
    assert result.stdout_bytes == "same \u2028 \x0b \x85 \U0001f600  two\r\nb!\nsame last\n".encode()


def test_an_empty_stdin_is_refused_like_an_empty_file(run: Any, editor: Any, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    results = run("edit", "MODEL", stdin=b""), run("edit", "MODEL", "--src", tmp_path / "empty")
    assert [(result.exit_code, result.stdout) for result in results] == [(1, "")] * 2
    assert "stdin: is empty" in results[0].stderr
    assert f"{tmp_path}/empty: is empty" in results[1].stderr


def test_a_malformed_line_is_named_after_the_lines_before_it_are_done(run: Any, editor: Any) -> None:
    result = run("edit", "MODEL", stdin=b"a\tb\nno tab\nc\td\n")
    assert (result.exit_code, result.stdout) == (1, "b!\n")
    assert "stdin, line 2" in result.stderr


def test_stdin_that_is_not_utf8(run: Any, editor: Any) -> None:
    result = run("edit", "MODEL", stdin=b"a\tb\na\t\xff\n")
    assert result.exit_code == 1
    assert "stdin, line 2" in result.stderr


def test_jsonl(run: Any, editor: Any) -> None:
    result = run("edit", "MODEL", "--format", "jsonl", "--n-best", 2, stdin="s\tgrün\ns\tsame\n".encode())
    first, second = (json.loads(line) for line in result.stdout.splitlines())
    assert first["text"] == "grün!"
    assert first["edits"] == [{"op": "insert", "mt_span": [4, 4], "pe_span": [4, 5], "confidence": 0.5}]
    assert [alternative["text"] for alternative in first["alternatives"]] == ["grün?"]
    assert (second["changed"], second["hit_limit"], second["skipped"]) == (False, False, None)


def test_n_best_does_not_fit_into_lines_of_text(run: Any, editor: Any) -> None:
    result = run("edit", "MODEL", "--n-best", 2, stdin=b"a\tb\n")
    assert result.exit_code == 1
    assert "--format jsonl" in result.stderr


def test_outputs_at_the_limit_are_counted_once(run: Any, editor: Any) -> None:
    result = run("edit", "MODEL", "--set", "chunk_lines=1", stdin=b"a\tendless\na\tb\na\tendless 2\n")
    assert result.stderr.count("warning:") == 1
    assert "warning: lines 1, 3: the output reached the maximum length" in result.stderr


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda src, mt, out: mt.write_text("one\n"), "x.src has 7 lines and"),
        (lambda src, mt, out: mt.write_bytes(b"a\nb\n\xff\n"), "x.mt, line 3"),
        (lambda src, mt, out: src.unlink(), "no such file"),
        (lambda src, mt, out: out.mkdir(), "is a folder"),
        (lambda src, mt, out: out.with_name("x.out.partial").mkdir(), "is a folder"),
    ],
)
def test_bad_files_are_found_before_the_model_is_loaded(
    run: Any, editor: Any, files: Files, change: Any, message: str
) -> None:
    change(*files)
    result = run(*options(files))
    assert result.exit_code == 1
    assert message in result.stderr
    assert editor.loaded == []


@pytest.mark.parametrize("missing", [("--mt", "x"), ("--resume",)])
def test_options_that_do_not_fit_together(run: Any, editor: Any, missing: Any) -> None:
    result = run("edit", "MODEL", *missing)
    assert result.exit_code == 1
    assert "--src" in result.stderr


def interrupted(run: Any, editor: Any, files: Files) -> Path:
    """Run until Ctrl-C in the second chunk of three lines; return the file with what was done."""
    editor.raise_at = {"mt 4": KeyboardInterrupt()}
    result = run(*options(files, "--set", "chunk_lines=3"))
    editor.raise_at = {}
    editor.calls.clear()
    partial = files[2].with_name("x.out.partial")
    assert result.exit_code == 130
    assert result.stderr == (
        f"stopped after 3 of 7 lines, kept in {partial}; the same command with --resume continues after them\n"
    )
    assert not files[2].exists()
    return partial


def test_control_c_keeps_what_is_done_and_resume_goes_on(run: Any, editor: Any, files: Files) -> None:
    partial = interrupted(run, editor, files)
    assert partial.read_text() == "mt 0!\nmt 1!\nmt 2!\n"
    assert run(*options(files, "--resume")).exit_code == 0
    assert editor.calls == [("mt 3", "mt 4", "mt 5", "mt 6")]
    assert files[2].read_text() == EXPECTED
    assert not partial.exists()


def test_a_torn_last_line_is_written_anew(run: Any, editor: Any, files: Files) -> None:
    partial = interrupted(run, editor, files)
    with partial.open("ab") as file:
        file.write("mt 3 tör".encode()[:-2])
    assert run(*options(files, "--resume")).exit_code == 0
    assert files[2].read_text() == EXPECTED


def test_unfinished_lines_are_not_lost_without_resume(run: Any, editor: Any, files: Files) -> None:
    partial = interrupted(run, editor, files)
    before = partial.read_bytes()
    result = run(*options(files))
    assert result.exit_code == 1
    assert "--resume" in result.stderr
    assert partial.read_bytes() == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda files, editor: files[0].write_text("other\n" * 7), "another source file"),
        (lambda files, editor: files[1].write_text("other\n" * 7), "another mt file"),
        (lambda files, editor: (editor.sources[0] / "config.json").write_text('{"other": 1}'), "another model"),
        (lambda files, editor: setattr(editor, "search", SearchConfig(beam=9)), "another search.beam"),
        (
            lambda files, editor: setattr(editor, "search", SearchConfig(beam=4, edit_cost=1.0)),
            "another search.edit_cost",
        ),
    ],
)
def test_resume_refuses_another_job(run: Any, editor: Any, files: Files, change: Any, message: str) -> None:
    partial = interrupted(run, editor, files)
    before = partial.read_bytes()
    change(files, editor)
    result = run(*options(files, "--resume"))
    assert result.exit_code == 1
    assert message in result.stderr
    assert partial.read_bytes() == before


def test_resume_refuses_lines_of_unknown_making(run: Any, editor: Any, files: Files) -> None:
    partial = interrupted(run, editor, files)
    partial.with_name("x.out.partial.json").write_text("{torn")
    result = run(*options(files, "--resume"))
    assert result.exit_code == 1
    assert "missing or damaged" in result.stderr


def test_resume_with_nothing_to_go_on_with_starts(run: Any, editor: Any, files: Files) -> None:
    assert run(*options(files, "--resume")).exit_code == 0
    assert files[2].read_text() == EXPECTED


def test_input_that_shrinks_during_the_work_is_an_error(run: Any, editor: Any, files: Files) -> None:
    src, mt, out = files
    edit = editor.edit_segments

    def shrink(*arguments: Any, **settings: Any) -> Any:
        mt.write_text("mt 0\n")
        return edit(*arguments, **settings)

    editor.edit_segments = shrink
    src.write_text("source\n" * 50_000)
    mt.write_text("mt\n" * 50_000)
    result = run(*options(files, "--set", "chunk_lines=1000"))
    assert result.exit_code == 1
    assert "the input changed" in result.stderr
    assert not out.exists()


def test_without_mt_a_model_with_a_first_stage_drafts_it(run: Any, editor: Any, files: Files) -> None:
    editor.can = replace(editor.can, needs_mt=False)
    result = run("edit", "MODEL", "--src", files[0], "--format", "jsonl")
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(line["draft"], line["text"]) for line in lines] == [(f"source {n}~", f"source {n}~!") for n in range(7)]


def test_without_mt_a_model_that_needs_it_is_named(run: Any, editor: Any, files: Files) -> None:
    result = run("edit", "MODEL", "--src", files[0], "--out", files[2])
    assert (result.exit_code, result.stdout) == (1, "")
    assert "MODEL corrects translations and has no first stage to write them; give --mt" in result.stderr
    assert not list(files[2].parent.glob("x.out*"))


def test_compressed_files(run: Any, editor: Any, tmp_path: Path) -> None:
    for side in ("src", "mt"):
        (tmp_path / f"x.{side}.gz").write_bytes(gzip.compress(b"a\nb\n"))
    out = tmp_path / "out"
    assert run("edit", "m", "--src", tmp_path / "x.src", "--mt", tmp_path / "x.mt.gz", "--out", out).exit_code == 0
    assert out.read_text() == "a!\nb!\n"
