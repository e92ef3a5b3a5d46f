"""`postedit edit` and `postedit data extract` of translation files."""

import errno
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from tests.unit.cli.commands import refused
from tests.unit.cli.conftest import SCORES

from postedit import shipped
from postedit.cli.edit_files import split_inputs
from postedit.core.editor import Edit, Fallback, PostEdit
from postedit.files.units import copy_patched
from postedit.jobs import corrected_files

HEAD = '<xliff version="1.2"><file original="a" source-language="en-US" target-language="de"><body>\n'
TAIL = "</body></file></xliff>\n"


def unit(number: int, source: str, target: str | None, attributes: str = "", more: str = "") -> str:
    written = "" if target is None else f"<target{attributes}>{target}</target>"
    return f'<trans-unit id="{number}"><source>{source}</source>{written}{more}</trans-unit>\n'


def write(path: Path, *units: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(HEAD + "".join(units) + TAIL, encoding="utf-8")
    return path


@pytest.fixture
def edit(run: Any, editor: Any) -> Any:
    """Return what runs `postedit edit` with the stand-in for models."""
    return lambda *arguments: run("edit", *arguments)


UNITS = (
    unit(1, "a", "<g id='1'>das</g> Haus"),
    unit(2, "b", "fertig", ' state="final"'),
    unit(3, "c", None),
    unit(4, "d", "ein <x id='1'/> Wort", ' state="new"'),
)


def test_units_corrected_in_two_passes_by_what_scores_without_edits(edit: Any, tmp_path: Path) -> None:
    path, out = write(tmp_path / "a.xlf", *UNITS), tmp_path / "b.xlf"
    result = edit("MODEL", path, "--out", out, "--passes", 2, "--set", "files.keep_former=false")
    assert result.exit_code == 0, result.output
    assert "das</g> Haus!!<" in out.read_text()
    assert "Wort!!<" in out.read_text()
    assert "2 changed, 0 left as they are" in result.stderr


def test_targets_are_corrected_and_all_else_stays(edit: Any, tmp_path: Path) -> None:
    path, out = write(tmp_path / "a.xlf", *UNITS), tmp_path / "b.xlf"
    result = edit("MODEL", path, "--out", out, "--set", "files.keep_former=false")
    assert result.exit_code == 0, result.output
    state = 'state="needs-review-translation" state-qualifier="mt-suggestion"'
    expected = path.read_text().replace(f"<target>{'<g'}", f"<target {state}><g").replace("Haus<", "Haus!<")
    expected = expected.replace('<target state="new">', f"<target {state}>").replace("Wort<", "Wort!<")
    assert out.read_text() == expected
    assert sorted(tmp_path.iterdir()) == [path, out]
    for line in (
        "1 file, 4 units: 2 changed, 0 left as they are",
        "1 unit not edited: reviewed or final",
        "1 unit not edited: no target yet",
    ):
        assert line in result.stderr


def test_a_copy_of_the_source_that_waits_for_translation_is_no_target(edit: Any, tmp_path: Path) -> None:
    new, matched = ' state="needs-translation"', ' state="new" state-qualifier="leveraged-mt"'
    body = (unit(1, "a <x id='1'/> b", "a <x id='1'/> b", new), unit(2, "OK", "OK", matched), unit(3, "OK", "OK"))
    path, out = write(tmp_path / "a.xlf", *body), tmp_path / "b.xlf"
    result = edit("MODEL", path, "--out", out, "--set", "files.keep_former=false")
    assert result.exit_code == 0, result.output
    assert "1 file, 3 units: 2 changed" in result.stderr
    assert "1 unit not edited: no target yet, or only a copy of the source" in result.stderr
    assert body[0] in out.read_text()
    assert out.read_text().count(">OK!</target>") == 2


def test_a_copy_of_the_source_is_translated_and_not_kept(edit: Any, editor: Any, tmp_path: Path) -> None:
    editor.can = replace(editor.can, needs_mt=False)
    path = write(tmp_path / "a.xlf", unit(1, "a <x id='1'/> b", "a <x id='1'/> b", ' state="needs-translation"'))
    out = tmp_path / "b.xlf"
    result = edit("MODEL", path, "--out", out, "--set", "files.translate=true", "--format", "jsonl")
    assert "1 changed" in result.stderr
    assert "<x id='1'/>" in out.read_text().split("<target", 1)[1]
    assert "alt-trans" not in out.read_text()
    assert json.loads((tmp_path / "b.xlf.jsonl").read_text())["mt"] == ""


def test_what_a_reviewer_rejected_is_edited_counted_and_stays_rejected(edit: Any, tmp_path: Path) -> None:
    rejected = ' state="translated" state-qualifier="rejected-grammar"'
    final = unit(3, "c", "fertig", rejected.replace("translated", "final"))
    body = (unit(1, "a", "Haus", rejected), unit(2, "b", "Wort"), final)
    path, out = write(tmp_path / "a.xlf", *body), tmp_path / "b.xlf"
    result = edit("MODEL", path, "--out", out, "--format", "jsonl", "--set", "files.states=rejected")
    assert result.exit_code == 0, result.output
    assert "1 unit rejected by a reviewer: 1 changed; all stay rejected until a person confirms them" in result.stderr
    assert "2 units not edited: reviewed or final, or of another state that is not chosen" in result.stderr
    assert out.read_text().count('state-qualifier="rejected-grammar"') == 2
    assert json.loads((tmp_path / "b.xlf.jsonl").read_text())["state"] == "rejected"


def test_edits_that_the_encoding_cannot_hold_are_said_to_be_that(edit: Any, editor: Any, tmp_path: Path) -> None:
    def quoted(text: str) -> PostEdit:
        edit = Edit("insert", (len(text), len(text)), (len(text), len(text) + 1))
        return PostEdit(f"{text}\u201d", True, -1.0, SCORES, (edit,), confidences=(0.5,), token_spans=((0, 1),))

    editor._one = quoted
    header = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=ISO-8859-1\\n"\n\n'
    path, out = tmp_path / "a.po", tmp_path / "b.po"
    path.write_bytes(f'{header}#, fuzzy\nmsgid "a"\nmsgstr "sí"\n'.encode("iso-8859-1"))
    result = edit("MODEL", path, "--out", out)
    assert result.exit_code == 0, result.output
    assert out.read_bytes() == path.read_bytes()
    assert "given up: the file cannot hold their characters, because of its encoding or format" in result.stderr
    assert "codes" not in result.stderr


def test_no_model_leaves_files_as_they_are(edit: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "a.xlf", *UNITS)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert edit("none", path, "--out", tmp_path / "b.xlf").exit_code == 0
    assert (tmp_path / "b.xlf").read_bytes() == path.read_bytes()


def test_folders_keep_their_structure(edit: Any, tmp_path: Path) -> None:
    for name in ("x/a.xlf", "x/y/b.xliff"):
        write(tmp_path / name, UNITS[0])
    (tmp_path / "x/notes.txt").write_text("no translation file")
    result = edit("MODEL", tmp_path / "x", "--out", tmp_path / "out")
    assert result.exit_code == 0
    assert "not copied, because they are not translation files: 1 file in the folders" in result.stderr
    assert sorted(path.name for path in (tmp_path / "out").rglob("*.*")) == ["a.xlf", "b.xliff"]
    assert "Haus!" in (tmp_path / "out/y/b.xliff").read_text()


def test_a_file_is_known_by_its_content(edit: Any, tmp_path: Path) -> None:
    path, out = write(tmp_path / "a.xml", *UNITS), tmp_path / "b.xml"
    assert edit("MODEL", path, "--out", out).exit_code == 0
    assert "Haus!" in out.read_text()


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["document.mqxliff", "a.txt"], "is a package with .mqxliff files; unpack it, and give those files"),
        (["de/a.sdlxliff", "de/b.SDLXLIFF", "a.tmx"], "is a package with .sdlxliff and .tmx files; unpack it"),
        (["word/document.xml"], "is a package without translation files, and not a model; export its text as XLIFF"),
    ],
)
def test_a_package_is_refused_in_words(edit: Any, tmp_path: Path, names: list[str], message: str) -> None:
    with ZipFile(tmp_path / "a.zip", "w") as package:
        for name in names:
            package.writestr(name, HEAD + TAIL)
    assert f"a.zip: {message}" in refused(edit(tmp_path / "a.zip", "--out", tmp_path / "b"))


@pytest.mark.parametrize("name", ["a.xlf.gz", "a.PO.xz", "a.tmx.zst"])
def test_a_compressed_file_is_refused_in_words(edit: Any, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"compressed")
    message = f"{name}: compressed translation files are not read; unpack it, and give the file in it"
    assert message in refused(edit(tmp_path / name, "--out", tmp_path / "b"))


def test_a_stream_of_a_translation_file_is_refused_in_words(edit: Any, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.xlf")
    for name in ("-", tmp_path / "a.xlf"):
        message = (
            f"{name}: is a stream, and a translation file is read more than once; save it to a file, and name that"
        )
        assert message in refused(edit("MODEL", name, "--out", tmp_path / "b.xlf"))


def test_a_damaged_package_is_refused_in_words(edit: Any, tmp_path: Path) -> None:
    with ZipFile(tmp_path / "a.zip", "w") as package:
        package.writestr("a.xlf", HEAD + TAIL)
    data = (tmp_path / "a.zip").read_bytes()
    (tmp_path / "a.zip").write_bytes(data.replace(b"PK\1\2", b"PK\0\0"))
    assert "a.zip: is a package that cannot be read" in refused(edit(tmp_path / "a.zip", "--out", tmp_path / "b"))


@pytest.mark.parametrize("name", ["model.toml", "model.TOML", "model.safetensors"])
def test_a_model_that_quotes_a_translation_file_is_a_model(tmp_path: Path, name: str) -> None:
    model = tmp_path / name
    model.write_text("prompt = '<xliff version=\"1.2\">'\n")
    assert split_inputs([str(model)], folders=True) == ([str(model)], [])


def limited(width: int, source: str, target: str | None, more: str = "") -> str:
    return unit(1, source, target, more=more).replace('id="1"', f'id="1" maxwidth="{width}" size-unit="char"')


@pytest.mark.parametrize(
    ("target", "width", "changed"),
    [
        ("lange Wort", 10, 0),
        ("lange Wort", 11, 1),
        ("lange Wort", 5, 0),
        (" lange Wort", 11, 0),
        (" lange Wort\n", 13, 1),
        ("a &amp;<x id='1'/> b", 5, 0),
        ("a &amp;<x id='1'/> b", 6, 1),
        ("one<x id='1'/>two", 7, 1),
        ("&lt;b&gt;a", 4, 0),
        ("&lt;b&gt;a", 5, 1),
    ],
)
def test_no_target_is_made_longer_than_the_file_allows(
    edit: Any, tmp_path: Path, target: str, width: int, changed: int
) -> None:
    path, out = write(tmp_path / "a.xlf", limited(width, "a", target)), tmp_path / "b.xlf"
    result = edit("MODEL", path, "--out", out, "--format", "jsonl")
    assert result.exit_code == 0, result.output
    assert f"{changed} changed, 0 left as they are" in result.stderr
    assert ("longer or shorter than the file allows" in result.stderr) == (not changed)
    record = json.loads((tmp_path / "b.xlf.jsonl").read_text())
    assert (record["written"], record["changed"]) == (bool(changed), bool(changed))
    assert (record["skipped"] or "") == ("" if changed else corrected_files._TOO_LONG)
    assert (out.read_text() == path.read_text()) == (not changed)


@pytest.mark.parametrize(("most", "changed"), [(11, 0), (12, 1)])
def test_no_target_takes_more_storage_than_the_file_allows(edit: Any, tmp_path: Path, most: int, changed: int) -> None:
    body = unit(1, "a", "große Wort").replace('id="1"', f'id="1" maxbytes="{most}"')
    path, out = write(tmp_path / "a.xlf", body), tmp_path / "b.xlf"
    result = edit("MODEL", path, "--out", out)
    assert f"{changed} changed, 0 left as they are" in result.stderr


@pytest.mark.parametrize("new", ["kurz", "lange Werk"])
def test_a_target_that_is_too_long_may_become_no_longer(edit: Any, editor: Any, tmp_path: Path, new: str) -> None:
    edits = (Edit("replace", (0, 10), (0, len(new))),)
    editor._one = lambda text: PostEdit(new, True, edits=edits, confidences=(1.0,), token_spans=((0, 1),))
    path, out = write(tmp_path / "a.xlf", limited(3, "a", "lange Wort")), tmp_path / "b.xlf"
    assert edit("MODEL", path, "--out", out).exit_code == 0
    assert f">{new}</target>" in out.read_text()


@pytest.mark.parametrize(("width", "written"), [(22, []), (23, ["eins"]), (24, ["eins", "ein Satz"])])
def test_segments_of_a_unit_are_together_as_long_as_allowed(
    edit: Any, tmp_path: Path, width: int, written: list[str]
) -> None:
    def segments(*texts: str) -> str:
        return " &amp; ".join(f'<mrk mtype="seg" mid="{mid}">{text}</mrk>' for mid, text in enumerate(texts))

    source = f"<seg-source>{segments('a', 'b', 'c')}</seg-source>"
    target = f"<target>{segments('eins', 'ein Satz', 'same')}</target>"
    path = write(tmp_path / "a.xlf", limited(width, "a b c", None, source + target))
    result = edit("MODEL", path, "--out", tmp_path / "b.xlf")
    assert f"{len(written)} changed, 1 left as they are" in result.stderr
    assert [text for text in ("eins", "ein Satz") if f">{text}!<" in (tmp_path / "b.xlf").read_text()] == written


@pytest.mark.parametrize(
    ("source", "width", "changed"),
    [("ab", 3, 0), ("ab", 4, 1), (" ab ", 5, 0), (" ab ", 6, 1), ("<x id='1'/>ab", 3, 0), ("<x id='1'/>ab", 4, 1)],
)
def test_no_translation_is_longer_than_the_file_allows(
    edit: Any, editor: Any, tmp_path: Path, source: str, width: int, changed: int
) -> None:
    editor.can = replace(editor.can, needs_mt=False)
    path, out = write(tmp_path / "a.xlf", limited(width, source, None)), tmp_path / "b.xlf"
    result = edit("MODEL", path, "--out", out, "--set", "files.translate=true", "--format", "jsonl")
    assert result.exit_code == 0, result.output
    assert ("ab~!" in out.read_text()) == bool(changed)
    assert f"{changed} changed, 0 left as they are" in result.stderr
    record = json.loads((tmp_path / "b.xlf.jsonl").read_text())
    assert (record["text"], record["skipped"]) == ("ab~!", None if changed else corrected_files._TOO_LONG)


def test_file_may_be_named_by_its_url_on_this_machine(edit: Any, tmp_path: Path) -> None:
    path, out = write(tmp_path / "a.xlf", *UNITS), tmp_path / "b.xlf"
    assert edit("MODEL", f"file://{path}", "--out", f"file://{out}").exit_code == 0
    assert out.read_text().count("!<") == 2


def test_an_interrupted_run_continues(edit: Any, editor: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, out = write(tmp_path / "a.xlf", *UNITS), tmp_path / "out.xlf"
    editor.raise_at = {"ein  Wort": KeyboardInterrupt()}
    arguments = ("MODEL", path, "--out", out, "--set", "chunk_lines=1")
    stopped = edit(*arguments)
    assert stopped.exit_code == 130
    assert "stopped after 1 of 2 units, kept in" in stopped.stderr
    assert not out.exists()
    assert "add --resume to continue" in refused(edit(*arguments))
    editor.raise_at.clear()
    editor.calls.clear()
    shown: list[tuple[str, int]] = []
    monkeypatch.setattr("postedit.progress.LineProgress.update", lambda bar, done: shown.append((bar._what, done)))
    assert edit(*arguments, "--resume").exit_code == 0
    assert [one for one in shown if one[0] == "units"] == [("units", 1), ("units", 2)]
    assert editor.calls == [("ein  Wort",)]
    assert out.read_text().count("!<") == 2
    assert sorted(tmp_path.iterdir()) == [path, out]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.xlf", "--out", "x.xlf"], "none.xlf: there is no such file"),
        (["s3://bucket/a.xlf", "--out", "x.xlf"], "s3://bucket/a.xlf: translation files are read from this machine"),
        (["a.xlf"], "give --out: a file for the corrected copy of a.xlf"),
        (["a.xlf", "--out", "a.xlf"], "a.xlf: is an input; give another --out"),
        (["a.xlf", "sub/a.xlf", "--out", "out"], "a.xlf: would be the copy of several files"),
        (
            ["a.xlf", "--format", "jsonl", "--out", "/dev/stdout"],
            "no other file can be kept beside it; leave out --format",
        ),
        (
            ["a.xlf", "--min-confidence", "0.5", "--set", "search.banned=b.txt", "--out", "x.xlf"],
            "may revert what search.banned asks for",
        ),
        (["sub", "--out", "sub/out"], "sub/out: is in the folder of the inputs; write the copies to another one"),
        (["a.xlf", "--src", "x", "--out", "x.xlf"], "--src is for lines of text; it cannot be combined with a.xlf"),
        (["empty", "--out", "out"], "empty: has no translation files"),
        (["other.xlf", "--out", "x.xlf"], "other.xlf: is not a translation file that can be read here"),
        (["broken.xlf", "--out", "x.xlf"], "broken.xlf: line 3, column 3: not well-formed XML"),
        (["a.xlf", "--out", "x.xlf", "--set", "files.states=done"], "files.states"),
    ],
)
def test_faults_are_reported_in_a_sentence(
    edit: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write(Path("a.xlf"), *UNITS)
    write(Path("sub/a.xlf"), *UNITS)
    Path("empty").mkdir()
    Path("other.xlf").write_text("text")
    Path("b.txt").write_text("word\n")
    Path("broken.xlf").write_text(HEAD + "<trans-unit>\n</body>")
    before = sorted(Path().rglob("*"))
    assert message in refused(edit("MODEL", *arguments))
    assert sorted(Path().rglob("*")) == before


def test_a_run_that_fails_while_copies_are_written_continues(
    edit: Any, editor: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.xlf", "b.xlf"):
        write(tmp_path / "in" / name, *UNITS)
    arguments = ("MODEL", tmp_path / "in", "--out", tmp_path / "out")
    with monkeypatch.context() as patch:
        copies = []

        def full(source: Any, patches: Any, out: Any) -> None:
            copies.append(out)
            if len(copies) == 2:
                raise OSError(errno.ENOSPC, "No space left on device")
            copy_patched(source, patches, out)

        patch.setattr("postedit.jobs.corrected_files.copy_patched", full)
        message = refused(edit(*arguments))
        assert "b.xlf: cannot be written: the disk is full" in message
        assert "the corrections are kept in" in message
    assert sorted(path.name for path in (tmp_path / "out").iterdir() if path.suffix == ".xlf") == ["a.xlf"]
    editor.calls.clear()
    assert edit(*arguments, "--resume").exit_code == 0
    assert editor.calls == []
    assert [(tmp_path / "out" / name).read_text().count("!<") for name in ("a.xlf", "b.xlf")] == [2, 2]
    assert len(list((tmp_path / "out").iterdir())) == 2


def test_records_of_edited_units_are_written_beside_the_copies(edit: Any, editor: Any, tmp_path: Path) -> None:
    def moved(text: str) -> PostEdit:
        if text == "ein  Wort":
            return PostEdit(text, False, skipped="impossible", fallbacks=(Fallback("number", "5", "mt"),))
        edits = (Edit("replace", (0, 3), (0, 3)), Edit("insert", (8, 8), (8, 9)))
        return PostEdit("ein Haus!", True, -1.0, SCORES, edits, confidences=(0.5, 0.75), token_spans=((0, 1), (0, 1)))

    editor._one = moved
    body = UNITS[0].replace("das</g> Haus", "d</g>as Haus")
    path = write(tmp_path / "a.xlf", body, *UNITS[1:])
    result = edit("MODEL", path, "--format", "jsonl", "--out", tmp_path / "b.xlf")
    assert result.exit_code == 0, result.output
    assert "protected spans restored: 1 number" in result.stderr
    assert "1 unit with edits that were given up: inline codes had no sound place" in result.stderr
    first, second = map(json.loads, (tmp_path / "b.xlf.jsonl").read_text().splitlines())
    expected = {"file": str(path), "id": "a#1", "src": "a", "mt": "das Haus", "text": "das Haus!", "given_up": 1}
    assert expected.items() <= first.items()
    assert [edit["confidence"] for edit in first["edits"]] == [0.75]
    assert (first["written"], second["written"]) == (True, False)
    assert second["fallbacks"] == [{"kind": "number", "value": "5", "by": "mt"}]
    assert sorted(tmp_path.iterdir()) == [path, tmp_path / "b.xlf", tmp_path / "b.xlf.jsonl"]


def test_files_of_a_folder_that_are_refused_are_named_at_the_end(edit: Any, tmp_path: Path) -> None:
    write(tmp_path / "in/a.xlf", *UNITS)
    (tmp_path / "in/b.xlf").write_text(HEAD + "<trans-unit>\n</body>")
    for name in ("c.xliff", "readme.txt", "._a.xlf"):
        (tmp_path / "in" / name).write_text("")
    result = edit("MODEL", tmp_path / "in", "--out", tmp_path / "out")
    assert "2 of 3 files were not edited" in refused(result)
    assert "c.xliff: is not a translation file that can be read here" in " ".join(result.stderr.split())
    assert "not translation files: 2 files in the folders" in result.stderr
    assert "b.xlf: line 3, column 3: not well-formed XML" in result.stderr
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a.xlf"]


def test_units_without_a_target_are_translated_on_demand(edit: Any, editor: Any, tmp_path: Path) -> None:
    editor.can = replace(editor.can, needs_mt=False)
    codes = "<g id='1'>d</g> e<x id='2'/>"
    units = (unit(2, "b", None), unit(3, "c", ""), unit(4, codes, None), unit(5, "f", "<x id='9'/>"))
    path = write(tmp_path / "a.xlf", unit(1, "a", "Haus"), *units)
    result = edit("MODEL", path, "--out", tmp_path / "b.xlf", "--set", "files.translate=true", "--format", "jsonl")
    assert result.exit_code == 0, result.output
    written = (tmp_path / "b.xlf").read_text()
    assert [text in written for text in (">Haus!</target>", ">b~!</target>", ">c~!</target>")] == [True] * 3
    assert "><g id='1'>d</g> e<x id='2'/>~!</target>" in written
    assert written.count("<target") == 5 + written.count("<alt-trans")
    assert "1 unit not edited: a translation has no place for the inline codes" in result.stderr
    records = [json.loads(line) for line in (tmp_path / "b.xlf.jsonl").read_text().splitlines()]
    assert [record["skipped"] for record in records] == [None, None, None, None, corrected_files._NO_PLACE]


def test_folders_are_models_where_lines_are_edited(run: Any, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "src").write_text("a\n")
    options = ("--src", tmp_path / "src", "--mt", tmp_path / "src", "--out", tmp_path / "out")
    assert "config.json" in refused(run("edit", tmp_path / "model", *options))


@pytest.mark.parametrize(("states", "edited"), [("initial", 1), ("initial,final", 2), ('["final"]', 1)])
def test_states_are_chosen_by_their_names(edit: Any, tmp_path: Path, states: str, edited: int) -> None:
    path = write(tmp_path / "a.xlf", *UNITS)
    assert edit("MODEL", path, "--out", tmp_path / "b.xlf", "--set", f"files.states={states}").exit_code == 0
    assert (tmp_path / "b.xlf").read_text().count("!<") == edited


def test_a_file_that_does_not_say_its_target_language_gets_no_targets(edit: Any, editor: Any, tmp_path: Path) -> None:
    editor.can = replace(editor.can, needs_mt=False)
    text = '<xliff version="2.0" srcLang="en"><file id="f"><unit id="1"><segment><source>a</source>{}</segment></unit>'
    for name, target in (("in/a.xlf", ""), ("in/b.xlf", "<target>b</target>")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"{text.format(target)}</file></xliff>")
    result = edit("MODEL", tmp_path / "in", "--out", tmp_path / "out", "--set", "files.translate=true")
    assert result.exit_code == 0, result.output
    assert "1 unit not edited: no target yet, and the file does not say in which language" in result.stderr
    assert "b!<" in (tmp_path / "out/b.xlf").read_text()


def test_a_project_with_a_configuration_is_no_model(edit: Any, tmp_path: Path) -> None:
    write(tmp_path / "in/a.xlf", *UNITS)
    (tmp_path / "in/config.json").write_text("{}")
    assert edit("MODEL", tmp_path / "in", "--out", tmp_path / "out").exit_code == 0
    assert "give --out: a folder for the copies" in refused(edit("MODEL", tmp_path / "in"))


def test_a_folder_with_files_only_in_its_folders_is_no_model(edit: Any, tmp_path: Path) -> None:
    write(tmp_path / "in/first/a.xlf", *UNITS)
    assert "give --out: a folder for the copies" in refused(edit("MODEL", tmp_path / "in"))


def test_a_memory_between_two_regions_needs_their_names(run: Any, tmp_path: Path) -> None:
    tuvs = "".join(f'<tuv xml:lang="{one}"><seg>{one}</seg></tuv>' for one in ("en-US", "en-GB"))
    (tmp_path / "a.tmx").write_text(f'<tmx version="1.4"><header srclang="en-US"/><body><tu>{tuvs}</tu></body></tmx>')
    extract = ("data", "extract", tmp_path / "a.tmx", "--parallel", "--out", tmp_path / "t")
    assert "nothing to extract (1 unit: not in two languages (--languages also chooses" in refused(run(*extract))
    assert run(*extract, "--languages", "en-US:en-GB").exit_code == 0
    assert (tmp_path / "t.pe").read_text() == "en-GB\n"


def test_triplets_of_one_pair_of_languages_are_extracted(run: Any, tmp_path: Path) -> None:
    for name, language in (("a.xlf", "de"), ("b.xlf", "fr")):
        write(tmp_path / "in" / name, unit(1, "a", language))
        path = tmp_path / "in" / name
        path.write_text(path.read_text().replace('target-language="de"', f'target-language="{language}"'))
    for option, expected, other in (
        ((), "de", "from en to fr, not from en-US to de"),
        (("--languages", "en:fr"), "fr", "from en to de, not from en to fr"),
    ):
        result = run("data", "extract", tmp_path / "in", "--parallel", *option, "--out", tmp_path / "t")
        assert f"1 unit left out: {other} (--languages chooses)" in result.stdout
        assert (tmp_path / "t.pe").read_text() == f"{expected}\n"
    head = '<tmx version="1.4"><header srclang="en"/><body><tu><tuv xml:lang="en"><seg>a</seg></tuv>'
    (tmp_path / "in/c.tmx").write_text(f'{head}<tuv xml:lang="fr"><seg>b</seg></tuv></tu></body></tmx>')
    result = run("data", "extract", tmp_path / "in", "--parallel", "--languages", "en:de", "--out", tmp_path / "t")
    assert "1 unit left out: from en to fr, not from en to de (--languages chooses)" in result.stdout
    assert "1 unit left out: not from en to de (--languages chooses)" in result.stdout, "of the memory"
    for odd, named in (("zh-TW", "zh-hant"), ("x y&#10;z", "an unknown language")):
        path.write_text(path.read_text().replace('target-language="fr"', f'target-language="{odd}"'))
        result = run("data", "extract", path, "--parallel", "--languages", "en:zh", "--out", tmp_path / "t")
        told = f"nothing to extract from en to zh; choose other languages with --languages (1 unit: from en to {named})"
        assert told in refused(result)
        path.write_text(path.read_text().replace(odd, "fr"))
    assert "must be two languages" in refused(
        run("data", "extract", tmp_path / "in", "--languages", "de", "--out", tmp_path / "t")
    )


def test_approved_targets_of_machines_are_not_edited(edit: Any, tmp_path: Path) -> None:
    machine = ' state="signed-off" state-qualifier="leveraged-mt"'
    path = write(tmp_path / "a.xlf", unit(1, "a", "Haus", machine), unit(2, "b", "Haus"))
    edit("MODEL", path, "--out", tmp_path / "b.xlf")
    assert (tmp_path / "b.xlf").read_text().count("!<") == 1


def test_spans_stay_whole_when_edits_are_given_up_for_codes(edit: Any, editor: Any, tmp_path: Path) -> None:
    def moved(text: str) -> PostEdit:
        edits = (Edit("delete", (0, 2), (0, 0)), Edit("insert", (6, 6), (4, 6)))
        return PostEdit("Haus ٥", True, -1.0, SCORES, edits=edits, confidences=(1.0, 1.0), token_spans=((0, 1), (0, 1)))

    editor._one = moved
    path = write(tmp_path / "a.xlf", unit(1, "house 5", "<g id='1'>5</g> <g id='2'>Haus</g>"))
    result = edit("MODEL", path, "--out", tmp_path / "b.xlf", "--format", "jsonl")
    assert result.exit_code == 0
    assert (tmp_path / "b.xlf").read_text() == path.read_text()
    assert "protected spans restored: 1 number" in result.stderr
    (record,) = map(json.loads, (tmp_path / "b.xlf.jsonl").read_text().splitlines())
    assert (record["text"], record["edits"], record["given_up"], record["written"]) == ("5 Haus", [], 1, False)
    assert record["fallbacks"] == [{"kind": "number", "value": "5", "by": "mt"}]


@pytest.mark.parametrize("languages", [("en", "zh"), ("fr", "de")])
def test_files_of_other_languages_are_refused(
    edit: Any, editor: Any, tmp_path: Path, languages: tuple[str, str]
) -> None:
    path = write(tmp_path / "a.xlf", *UNITS)
    editor.can = replace(editor.can, languages=languages)
    arguments = ("MODEL", path, "--out", tmp_path / "b.xlf")
    assert "is from en-US to de, and the model from" in refused(edit(*arguments))
    assert edit(*arguments, "--set", "files.check_languages=false").exit_code == 0


def test_a_model_for_simplified_chinese_refuses_traditional(run: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "a.xlf", *UNITS)
    path.write_text(path.read_text().replace('target-language="de"', 'target-language="zh-TW"'))
    message = refused(run("edit", path, "--out", tmp_path / "b.xlf"))
    assert "is from en-US to zh-TW, and the model from en to zh; name another model" in message


def test_a_copy_of_the_source_before_is_the_mt_of_no_triplet(run: Any, tmp_path: Path) -> None:
    before = write(tmp_path / "before.xlf", unit(1, "a", "a", ' state="new"'), unit(2, "b", "b"))
    after = write(tmp_path / "after.xlf", unit(1, "a", "A"), unit(2, "b", "B"))
    out = tmp_path / "train"
    result = run("data", "extract", after, "--before", before, "--out", out)
    assert "1 unit left out: no target before" in result.stdout
    assert out.with_suffix(".mt").read_text() == "b\n"


def test_triplets_come_from_files_before_and_after(run: Any, tmp_path: Path) -> None:
    before = write(tmp_path / "before.xlf", *UNITS, unit(5, "e", "weg"), unit(6, "f", "alt"), unit(8, "b", "roh"))
    after = write(
        tmp_path / "after.xlf",
        unit(1, "a", "<g id='1'>ein</g>\n  Haus"),
        unit(2, "b", "fertig", ' state="final"'),
        unit(3, "c", "neu"),
        unit(4, "d", "offen", ' state="new"'),
        unit(6, "F", "alt"),
        unit(7, "g", "neu"),
        unit(8, "b", "fertig", ' state-qualifier="rejected-inaccurate"'),
    )
    out = tmp_path / "train"
    result = run("data", "extract", after, "--before", before, "--out", out)
    assert result.exit_code == 0, result.output
    assert [out.with_suffix(ending).read_text() for ending in (".src", ".mt", ".pe")] == [
        "a\nb\n",
        "das Haus\nfertig\n",
        "ein Haus\nfertig\n",
    ]
    assert out.with_suffix(".ids").read_text() == f"{after}\ta#1\n{after}\ta#2\n"
    for reason in (
        "no target before",
        "another source before",
        "not in the file before",
        "not translated or post-edited",
        "rejected by a reviewer",
    ):
        assert f"1 unit left out: {reason}" in result.stdout


def test_triplets_come_from_candidates_and_parallel_text_from_targets(run: Any, tmp_path: Path) -> None:
    machine = '<alt-trans origin="mt"><target>das <x id="1"/>Haus</target></alt-trans>'
    path = write(tmp_path / "a.xlf", unit(1, "the house", "ein Haus", more=machine), unit(2, "b", "zwei"))
    result = run("data", "extract", path, "--out", tmp_path / "t")
    assert "1 unit left out: no machine translation beside the target" in result.stdout
    assert [(tmp_path / f"t.{side}").read_text() for side in ("src", "mt", "pe")] == [
        "the house\n",
        "das Haus\n",
        "ein Haus\n",
    ]
    run("data", "extract", path, "--parallel", "--out", tmp_path / "p")
    assert [(tmp_path / f"p.{side}").read_text() for side in ("src", "pe")] == ["the house\nb\n", "ein Haus\nzwei\n"]


def test_triplets_come_from_the_history_of_segments(run: Any, tmp_path: Path) -> None:
    def history(status: str, target: str) -> str:
        version = f'mq:status="{status}"><source>a</source><target>{target}</target>'
        inside = f"<mq:historical-unit {version}</mq:historical-unit>"
        return f'<mq:minorversions xmlns:mq="MQXliff">{inside}</mq:minorversions>'

    path = write(
        tmp_path / "a.xlf",
        unit(1, "a", "neu", more=history("MachineTranslated", "alt")),
        unit(2, "a", "neu", more=history("ManuallyConfirmed", "alt")),
    )
    result = run("data", "extract", path, "--out", tmp_path / "t")
    assert "1 unit left out: no machine translation beside the target" in result.stdout
    assert [(tmp_path / f"t.{side}").read_text() for side in ("src", "mt", "pe")] == ["a\n", "alt\n", "neu\n"]


def test_nothing_to_extract_is_an_error_and_leaves_no_file(run: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "a.xlf", UNITS[2])
    result = run("data", "extract", path, "--out", tmp_path / "t")
    assert f"{path}: there is nothing to extract (1 unit: no target)" in " ".join(refused(result).split())
    assert list(tmp_path.iterdir()) == [path]
    write(tmp_path / "b.xlf", UNITS[2])
    of_folder = " ".join(refused(run("data", "extract", tmp_path, "--out", tmp_path / "t")).split())
    assert f"{path} and 1 other file: there is nothing to extract (2 units: no target)" in of_folder


def test_the_shipped_model_corrects_a_file(run: Any, tmp_path: Path) -> None:
    sample = Path(__file__).resolve().parents[3] / "examples/mlqe-pe.en-zh"
    if not sample.is_dir():
        pytest.skip("needs the sample in examples/")
    src, mt = (
        [
            line.replace("&", "&amp;").replace("<", "&lt;")
            for line in (sample / f"test.{side}").read_text().split("\n")[:30]
        ]
        for side in ("src", "mt")
    )
    units = [
        unit(number, one, f"<g id='1'>{other}</g>") for number, (one, other) in enumerate(zip(src, mt, strict=True))
    ]
    path = write(tmp_path / "a.xlf", *units)
    path.write_text(path.read_text().replace('target-language="de"', 'target-language="zh-CN"'))
    result = run("edit", shipped.MODEL, path, "--out", tmp_path / "b.xlf")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "b.xlf").read_text().count("previous-version") >= 5
