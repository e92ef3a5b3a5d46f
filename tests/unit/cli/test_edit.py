import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.cli.commands import EXPECTED, Files, options, refused, search

from postedit.core.search_config import Term
from postedit.search import SearchConfig


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
    assert editor.checked == [(search, True)] * 2
    assert editor.loaded == [("MODEL",)]


def test_options_of_the_search_reach_the_editor(run: Any, editor: Any, files: Files, tmp_path: Path) -> None:
    banned, required = tmp_path / "banned", tmp_path / "required"
    banned.write_text("Handy\n\n das ist \n")
    required.write_text("hello\tHallo Welt\nimmer\n\n")
    numbers = search("post_edit_penalty=0.5", "edit_cost=1.5", "max_edits=2", "no_repeat=3", "length_penalty=0.6")
    words = search("exempt_src=true", "no_unk=true", "normalisation=wu", f"banned={banned}", f"required={required}")
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


def test_lines_that_cannot_be_written_are_counted_with_the_first_one(run: Any, editor: Any) -> None:
    result = run("edit", "MODEL", "--set", "chunk_lines=1", stdin=b"a\tb\na\timpossible\na\timpossible\n")
    assert result.stdout == "b!\nimpossible\nimpossible\n"
    assert "warning: lines 2, 3: not edited, because no output was found" in result.stderr


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
    assert editor.loaded == [("ONE", "TWO")]
    assert (editor.load_options["weights"], editor.load_options["space"]) == ([0.7, 0.3], "probability")


def test_passes_edit_what_was_written(run: Any, editor: Any) -> None:
    result = run("edit", "MODEL", "--passes", "3", stdin=b"a\tb\n")
    assert result.exit_code == 0, result.stderr
    assert result.stdout == "b!!!\n"
    assert run("edit", "MODEL", "--passes", "0", stdin=b"a\tb\n").exit_code == 2


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


def test_a_malformed_line_is_named_after_the_lines_before_it_are_done(run: Any, editor: Any) -> None:
    result = run("edit", "MODEL", stdin=b"a\tb\nno tab\nc\td\n")
    assert (result.exit_code, result.stdout) == (1, "b!\n")
    assert "stdin, line 2" in result.stderr


def test_jsonl(run: Any, editor: Any) -> None:
    result = run("edit", "MODEL", "--format", "jsonl", "--n-best", 2, stdin="s\tgrün\ns\tsame\n".encode())
    first, second = (json.loads(line) for line in result.stdout.splitlines())
    assert first["text"] == "grün!"
    assert first["edits"] == [{"op": "insert", "mt_span": [4, 4], "pe_span": [4, 5], "confidence": 0.5}]
    assert [alternative["text"] for alternative in first["alternatives"]] == ["grün?"]
    assert (second["changed"], second["hit_limit"], second["skipped"]) == (False, False, None)


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
def test_bad_files_are_found_before_loading(run: Any, editor: Any, files: Files, change: Any, message: str) -> None:
    change(*files)
    assert message in refused(run(*options(files)))
    assert editor.loaded == []


@pytest.mark.slow
def test_input_that_shrinks_during_the_work_is_an_error(run: Any, editor: Any, files: Files) -> None:
    src, mt, out = files
    edit = editor.edit_segments

    def shrink(*arguments: Any, **settings: Any) -> Any:
        mt.write_text("mt 0\n")
        return edit(*arguments, **settings)

    editor.edit_segments = shrink
    src.write_text("source\n" * 50_000)
    mt.write_text("mt\n" * 50_000)
    assert "the input changed" in refused(run(*options(files, "--set", "chunk_lines=1000")))
    assert not out.exists()


def test_without_mt_a_model_with_a_first_stage_drafts_it(run: Any, editor: Any, files: Files) -> None:
    editor.can = replace(editor.can, needs_mt=False)
    result = run("edit", "MODEL", "--src", files[0], "--format", "jsonl")
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(line["draft"], line["text"]) for line in lines] == [(f"source {n}~", f"source {n}~!") for n in range(7)]


def test_without_mt_a_model_that_needs_it_is_named(run: Any, editor: Any, files: Files) -> None:
    result = run("edit", "MODEL", "--src", files[0], "--out", files[2])
    assert (result.exit_code, result.stdout) == (1, "")
    assert "MODEL corrects translations but cannot translate (it has no first stage); give --mt" in result.stderr
    assert not list(files[2].parent.glob("x.out*"))
    assert "the combination of A and B corrects" in run("edit", "A", "B", "--src", files[0]).stderr


def test_compressed_files(run: Any, editor: Any, tmp_path: Path) -> None:
    for side in ("src", "mt"):
        (tmp_path / f"x.{side}.gz").write_bytes(gzip.compress(b"a\nb\n"))
    out = tmp_path / "out"
    assert run("edit", "m", "--src", tmp_path / "x.src", "--mt", tmp_path / "x.mt.gz", "--out", out).exit_code == 0
    assert out.read_text() == "a!\nb!\n"
