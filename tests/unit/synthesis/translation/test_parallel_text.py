import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tiny_models
from synth_tools import program, read, refused, sentences, write

from postedit.core.errors import DataError
from postedit.editing.post_editor import PostEditor
from postedit.editing.results import unchanged

Synth = Callable[..., Any]
UPPER = program("print(line.upper())")


def options(folder: Path, **others: Any) -> dict[str, Any]:
    pe = sentences(50)
    write(folder / "text.pe", pe)
    write(folder / "text.src", [f"{line} x" for line in pe])
    return {"kind": "forward", "src": "text.src", "pe": "text.pe", "translator": UPPER, "chunk_lines": 7, **others}


def test_parallel_text_and_a_translator_make_triplets(synth: Synth, tmp_path: Path) -> None:
    result = synth(options(tmp_path))
    assert result.exit_code == 0, result.output
    assert read(tmp_path / "out.pe") == sentences(50)
    assert read(tmp_path / "out.src") == [f"{line} x" for line in sentences(50)]
    assert read(tmp_path / "out.mt") == [f"{line} x".upper() for line in sentences(50)]
    manifest = json.loads((tmp_path / "out.json").read_text())
    assert manifest["made"]["triplets"] == 50
    assert manifest["recipe"]["translator"]["kind"] == "command"
    assert "50 triplets" in result.stdout


def test_lines_that_are_blank_on_a_side_are_left_out_and_counted(synth: Synth, tmp_path: Path) -> None:
    recipe = options(tmp_path)
    write(tmp_path / "text.src", ["a", "", "c", "d"])
    write(tmp_path / "text.pe", ["A", "B", " ", "D"])
    result = synth({**recipe, "translator": program("print('' if line == 'd' else line)")})
    assert read(tmp_path / "out.mt") == ["a"]
    assert "left out: 3 blank on a side" in result.stdout


def test_text_without_usable_lines_is_refused(synth: Synth, tmp_path: Path) -> None:
    recipe = options(tmp_path)
    write(tmp_path / "text.src", ["a", "", " "])
    write(tmp_path / "text.pe", ["", "B", "C"])
    assert "would be empty: none of 3 lines can be used (3 blank on a side)" in refused(synth(recipe))
    assert not list(tmp_path.glob("out*"))


def test_finished_translations_survive_a_failing_translator(synth: Synth, tmp_path: Path) -> None:
    mended = tmp_path / "mended"
    body = (
        "from pathlib import Path",
        f"if '{sentences(50)[30]} x' == line and not Path({str(mended)!r}).exists(): continue",
    )
    recipe = options(tmp_path, translator=program(*body, "print(line.upper())"))
    assert "returned 6 lines for 7" in refused(synth(recipe))
    assert not (tmp_path / "out.mt").exists()
    assert len(read(tmp_path / "out.mt.partial")) == 28
    mended.touch()
    assert synth(recipe).exit_code == 1, "only --resume goes on"
    resumed = synth(recipe, "--resume")
    assert resumed.exit_code == 0, resumed.output
    assert read(tmp_path / "out.mt") == [f"{line} x".upper() for line in sentences(50)]


def test_a_command_that_dies_does_not_translate_again_what_is_done(synth: Synth, tmp_path: Path) -> None:
    log, lines = tmp_path / "log", [f"{line} x" for line in sentences(50)]
    body = (
        f"open({str(log)!r}, 'a').write(line + chr(10))",
        f"if line == {lines[6 * 7]!r} and open({str(log)!r}).read().count(line + chr(10)) == 1: sys.exit(3)",
        "print(line.upper())",
    )
    recipe = options(tmp_path, translator=program(*body))
    failed = synth(recipe)
    assert "ended with status 3" in refused(failed)
    assert "42 of 50 lines are done, kept in " in failed.stderr
    assert failed.stderr.strip().endswith("run the same command with --resume to continue")
    before = len(read(log))
    assert synth(recipe, "--resume").exit_code == 0
    assert read(log)[before:] == lines[42:]
    assert read(tmp_path / "out.mt") == [line.upper() for line in lines]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"src": "none"}, r"synth.src: "),
        ({"translator": {"kind": "command"}}, "synth.translator: command: missing"),
        ({"translator": {**UPPER, "beam": 2}}, "synth.translator: beam: has no effect"),
        ({"translators": 1}, 'did you mean "translator"'),
        ({"kind": "forwards"}, 'did you mean "forward"'),
    ],
)
def test_faults_are_reported_before_work(synth: Synth, tmp_path: Path, change: dict[str, Any], message: str) -> None:
    assert message in refused(synth(options(tmp_path, **change)))
    assert not list(tmp_path.glob("out*"))


def like_real(folder: Path, **others: Any) -> dict[str, Any]:
    """Real triplets of which a third are edited, and a translator that leaves every second line as it is."""
    recipe = options(folder)
    text, real = sentences(600, seed=3), sentences(300, seed=2)
    for side in ("src", "pe"):
        write(folder / f"real.{side}", real)
        write(folder / f"text.{side}", text)
    write(folder / "real.mt", [line if number % 3 else f"{line} y" for number, line in enumerate(real)])
    return {**recipe, "real": "real", "translator": program("print(line if len(line) % 2 else line + ' y')"), **others}


@pytest.mark.slow
def test_triplets_like_real_ones_are_chosen(synth: Synth, tmp_path: Path) -> None:
    result = synth(like_real(tmp_path, mismatch=0.1))
    assert result.exit_code == 0, result.output
    assert "2 of 2: selection of triplets" in result.stderr
    made = list(zip(*(read(tmp_path / f"out.{side}") for side in ("mt", "pe"))))
    translated = list(zip(*(read(tmp_path / f"out.translated.{side}") for side in ("mt", "pe"))))
    assert len(translated) == 600
    assert 0 < len(made) < 600
    edited, before = (sum(mt != pe for mt, pe in pairs) / len(pairs) for pairs in (made, translated))
    assert abs(edited - 1 / 3) < abs(before - 1 / 3)
    assert json.loads((tmp_path / "out.json").read_text())["mismatch"] <= 0.1


@pytest.mark.slow
def test_a_finished_choice_is_made_anew_without_translating_again(synth: Synth, tmp_path: Path) -> None:
    log = tmp_path / "log"
    translator = program(f"open({str(log)!r}, 'a').write('x')", "print(line if len(line) % 2 else line + ' y')")
    assert synth(like_real(tmp_path, mismatch=1.0, translator=translator)).exit_code == 0
    before = len(read(tmp_path / "out.pe")), log.read_text()
    assert synth(like_real(tmp_path, mismatch=0.1, translator=translator), "--resume").exit_code == 0
    assert 0 < len(read(tmp_path / "out.pe")) < before[0] == 600
    assert log.read_text() == before[1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"real": "none"}, "synth.real (none"),
        ({"real": {"src": "text.src", "pe": "text.pe"}}, "has no mt"),
        ({"mismatch": 0}, "synth.mismatch"),
        ({"out": "real"}, "would overwrite"),
        ({"real": []}, "synth.mismatch: needs real triplets; name them in synth.real"),
    ],
)
def test_faults_of_real_triplets_are_reported(
    synth: Synth, tmp_path: Path, change: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in refused(synth(like_real(tmp_path, mismatch=0.5) | change))
    assert not list(tmp_path.glob("out*"))


def by_model(folder: Path, **others: Any) -> dict[str, Any]:
    model = str(folder / "model")
    return options(folder, translator={"kind": "postedit", "model": model, "beam": 1}, chunk_lines=20, **others)


def save_translator(folder: Path, factor: float = 1.0) -> None:
    """Save a small translator; another factor of its weights makes it another one."""
    made = tiny_models.folder("transformer", input="src")
    for parameter in made.model.parameters():
        parameter.data.mul_(factor)
    made.save(folder / "model")


def test_lines_too_long_for_the_translator_are_left_out_and_counted(synth: Synth, tmp_path: Path) -> None:
    recipe = by_model(tmp_path)
    save_translator(tmp_path)
    write(tmp_path / "text.src", ["das Haus", "Haus " * 3000, ""])
    write(tmp_path / "text.pe", ["das Haus"] * 3)
    result = synth(recipe)
    assert result.exit_code == 0, result.output
    assert read(tmp_path / "out.src") == ["das Haus"]
    left_out = {"blank on a side": 1, "too long for the model": 1}
    assert json.loads((tmp_path / "out.json").read_text())["left_out"] == left_out


def test_a_line_that_does_not_fit_into_memory_is_an_error(
    synth: Synth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_translator(tmp_path)
    monkeypatch.setattr(PostEditor, "edit", lambda self, texts, **_: [unchanged("", "no memory") for _ in texts])
    assert "a single line does not fit into memory" in refused(synth(by_model(tmp_path)))


@pytest.mark.slow
def test_another_translator_in_the_same_place_does_not_continue(
    synth: Synth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_translator(tmp_path)
    edit, calls = PostEditor.edit, []

    def edit_once(self: PostEditor, *arguments: Any, **named: Any) -> Any:
        calls.append(1)
        if len(calls) > 1:
            raise DataError("interrupted")
        return edit(self, *arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr(PostEditor, "edit", edit_once)
        assert "20 of 50 lines are done" in refused(synth(by_model(tmp_path)))
    (tmp_path / "model").rename(tmp_path / "first")
    save_translator(tmp_path, 1.5)
    assert "the unfinished run has another model;" in refused(synth(by_model(tmp_path), "--resume"))
    (tmp_path / "model").rename(tmp_path / "second")
    (tmp_path / "first").rename(tmp_path / "model")
    result = synth(by_model(tmp_path), "--resume")
    assert result.exit_code == 0, result.output


@pytest.mark.slow
def test_finished_translations_of_another_model_are_made_anew(synth: Synth, tmp_path: Path) -> None:
    save_translator(tmp_path)
    assert synth(by_model(tmp_path, out=str(tmp_path / "real"))).exit_code == 0
    recipe = by_model(tmp_path, real="real", mismatch=1.0)
    assert synth(recipe).exit_code == 0
    assert "translation: already done" in synth(recipe, "--resume").stderr
    save_translator(tmp_path, 1.5)
    assert "already done" not in synth(recipe, "--resume").stderr
