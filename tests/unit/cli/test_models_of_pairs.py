"""Commands take the model of a language pair: `postedit models`, and verbs without a model or with a pair for one."""

from pathlib import Path
from typing import Any

import pytest
from tests.unit.cli.commands import refused
from tests.unit.cli.test_edit_files import unit, write
from tests.unit.releases.conftest import World

from postedit.releases import catalogue

PAIR = ("the house is red .", "der Haus ist rot ,")
CORRECTED = "das Haus ist rot ."


@pytest.fixture
def lines(tmp_path: Path) -> tuple[Path, Path]:
    for name, text in zip(("src", "mt"), PAIR):
        (tmp_path / name).write_text(f"{text}\n")
    return tmp_path / "src", tmp_path / "mt"


def test_models_are_listed_with_what_they_gain_and_where_they_are(run: Any, world: World) -> None:
    run("models", "fetch", "tree.en-de", "--from", world.releases)
    rows = {line.split()[1]: line for line in run("models", "list", "en-de").stdout.splitlines() if " en-de " in line}
    assert set(rows) == {"house.en-de", "tree.en-de"}
    assert "`postedit models fetch house.en-de` fetches it" in rows["house.en-de"]
    assert str(world.models / "tree.en-de-1") in rows["tree.en-de"]
    assert "TER 30.00 to 28.50, ten lines" in rows["tree.en-de"]
    everything = run("models", "list").stdout
    assert "comes with postedit" in everything
    assert "house.en-fr" in everything
    assert "there is no model" in refused(run("models", "list", "en-nl"))


def test_a_model_is_fetched_and_edits_by_its_pair(run: Any, world: World, lines: tuple[Path, Path]) -> None:
    src, mt = lines
    command = ("edit", "en-de", "--src", src, "--mt", mt)
    assert "`postedit models fetch en-de` fetches it" in refused(run(*command))
    first, again = (run("models", "fetch", "en-de", "--from", world.releases) for _ in range(2))
    assert "house.en-de (texts of house.en-de): fetched into" in first.stdout
    assert "is already in" in again.stdout
    result = run(*command)
    assert result.stdout == f"{CORRECTED}\n"
    assert "Model: house.en-de (texts of house.en-de)\n" in result.stderr
    assert "Model:" not in run("edit", world.models / "house.en-de-1", *command[2:]).stderr


def test_a_fetch_of_several_checks_all_names_first(run: Any, world: World) -> None:
    message = refused(run("models", "fetch", "en-de", "en-nl", "--from", world.releases))
    assert "en-nl: there is no model of this name or language pair; there are models for en-de, en-fr, en-zh" in message
    assert not world.models.exists()


def test_a_release_file_is_given_by_its_option(run: Any, world: World) -> None:
    file = world.releases / "house.en-de-1.tar.xz"
    message = refused(run("models", "fetch", file))
    assert f"is a file; give the language pair, and the release file with --from {file}" in message


def test_explain_and_simulate_take_a_pair(run: Any, world: World, tmp_path: Path) -> None:
    run("models", "fetch", "en-fr", "--from", world.releases)
    result = run("explain", "en-fr", "--src-text", PAIR[0], "--mt-text", PAIR[1])
    assert result.exit_code == 0, result.stderr
    assert "Model: house.en-fr" in result.stderr
    for side, text in zip(("src", "mt", "pe"), (*PAIR, CORRECTED)):
        (tmp_path / f"stream.{side}").write_text(f"{text}\n" * 3)
    simulated = run("simulate", "en-fr", "--stream", tmp_path / "stream")
    assert simulated.exit_code == 0, simulated.stderr


def test_files_choose_the_model_by_their_languages(run: Any, world: World, tmp_path: Path) -> None:
    given, out = write(tmp_path / "a.xlf", unit(1, *PAIR)), tmp_path / "out.xlf"
    assert "en-de: its model (texts of house.en-de) is not installed" in refused(run("edit", given, "--out", out))
    run("models", "fetch", "en-de", "en-fr", "--from", world.releases)
    result = run("edit", given, "--out", out)
    assert result.exit_code == 0, result.stderr
    assert f">{CORRECTED}</target>" in out.read_text()
    assert "Model: house.en-de" in result.stderr


def test_files_in_languages_without_a_model_say_so(run: Any, world: World, tmp_path: Path) -> None:
    given = write(tmp_path / "a.xlf", unit(1, *PAIR))
    given.write_text(given.read_text().replace('target-language="de"', 'target-language="nl"'))
    assert "en-nl: there is no model" in refused(run("edit", given, "--out", tmp_path / "out.xlf"))


def memory_of_three_languages(path: Path) -> Path:
    variants = "".join(
        f'<tuv xml:lang="{language}"><seg>{text}</seg></tuv>'
        for language, text in zip(("en-US", "de-DE", "fr-CA"), (PAIR[0], "x", PAIR[1]))
    )
    head = '<header srclang="en-US" segtype="sentence" o-tmf="x" adminlang="en" datatype="plaintext"/>'
    path.write_text(f'<tmx version="1.4">{head}<body><tu>{variants}</tu></body></tmx>')
    return path


def test_the_languages_of_a_memory_can_be_chosen(run: Any, world: World, tmp_path: Path) -> None:
    run("models", "fetch", "en-fr", "--from", world.releases)
    given, out = memory_of_three_languages(tmp_path / "a.tmx"), tmp_path / "out.tmx"
    message = refused(run("edit", given, "--out", out))
    assert f"several language pairs: en-de ({given}), en-fr ({given}); name a model" in message
    assert "--set files.languages=en:de" in message
    result = run("edit", given, "--out", out, "--set", "files.languages=en:fr")
    assert result.exit_code == 0, result.stderr
    assert f"<seg>{CORRECTED}</seg>" in out.read_text()


def test_a_memory_is_edited_in_the_languages_of_the_named_pair(
    run: Any, editor: Any, world: World, tmp_path: Path
) -> None:
    run("models", "fetch", "en-fr", "--from", world.releases)
    assert editor.abilities.languages == ("", "")
    given, out = memory_of_three_languages(tmp_path / "a.tmx"), tmp_path / "out.tmx"
    result = run("edit", "en-fr", given, "--out", out)
    assert result.exit_code == 0, result.stderr
    assert (f"<seg>{PAIR[1]}!</seg>" in out.read_text(), "<seg>x</seg>" in out.read_text()) == (True, True)


def test_files_of_other_languages_than_the_named_pair_are_refused(
    run: Any, editor: Any, world: World, tmp_path: Path
) -> None:
    run("models", "fetch", "en-fr", "--from", world.releases)
    given = write(tmp_path / "a.xlf", unit(1, *PAIR))
    message = refused(run("edit", "en-fr", given, "--out", tmp_path / "out.xlf"))
    assert "is from en-US to de, and the model from en to fr; name another model" in message


def test_a_file_without_source_language_gets_the_only_model(run: Any, world: World, tmp_path: Path) -> None:
    run("models", "fetch", "en-de", "--from", world.releases)
    given, out = tmp_path / "a.po", tmp_path / "out.po"
    given.write_text(f'msgid ""\nmsgstr "Language: de_AT\\n"\n\n#, fuzzy\nmsgid "{PAIR[0]}"\nmsgstr "{PAIR[1]}"\n')
    result = run("edit", given, "--out", out)
    assert result.exit_code == 0, result.stderr
    assert "Model: house.en-de (texts of house.en-de); to use another, name it" in result.stderr
    other = write(tmp_path / "b.xlf", unit(1, *PAIR))
    assert "house.en-de" in run("edit", given, other, "--out", tmp_path / "both").stderr
    given.write_text(given.read_text().replace("de_AT", "ar"))
    assert "ar: there is no model for this target language; there are models for en-de" in refused(
        run("edit", given, "--out", out)
    )
    named = refused(run("edit", "en-de", given, "--out", out))
    assert "is to ar, and the model from en to de; name another model" in named


@pytest.mark.parametrize("name", ["a.po", "a.xlf"])
def test_files_without_a_language_need_a_named_model(run: Any, world: World, tmp_path: Path, name: str) -> None:
    given, out = tmp_path / name, tmp_path / "out"
    if name == "a.po":
        given.write_text(f'#, fuzzy\nmsgid "{PAIR[0]}"\nmsgstr "{PAIR[1]}"\n')
    else:
        write(given, unit(1, *PAIR)).write_text(given.read_text().replace('target-language="de"', ""))
    message = refused(run("edit", given, "--out", out))
    assert f"{given}: does not say its target language; name a model" in message
    run("models", "fetch", "en-de", "--from", world.releases)
    assert run("edit", "en-de", given, "--out", out).exit_code == 0


def test_files_without_a_language_follow_the_others(run: Any, world: World, tmp_path: Path) -> None:
    run("models", "fetch", "en-de", "--from", world.releases)
    stated, given = write(tmp_path / "b.xlf", unit(1, *PAIR)), tmp_path / "a.po"
    given.write_text(f'#, fuzzy\nmsgid "{PAIR[0]}"\nmsgstr "{PAIR[1]}"\n')
    result = run("edit", given, stated, "--out", tmp_path / "both")
    assert "Model: house.en-de" in result.stderr
    assert (tmp_path / "both/a.po").read_text().endswith(f'msgstr "{CORRECTED}"\n')


def test_one_release_of_several_pairs_is_announced_once(run: Any, world: World, lines: tuple[Path, Path]) -> None:
    path = catalogue._CATALOGUE
    _, _, entries = path.read_text().partition('name = "house.en-de"')
    shared = entries.partition("[[models]]")[0].replace("texts of house.en-de", "texts of house.en-it")
    path.write_text(f'{path.read_text()}\n[[models]]\nname = "house.en-it"{shared}')
    catalogue.known_models.cache_clear()
    run("models", "fetch", "en-de", "--from", world.releases)
    src, mt = lines
    result = run("edit", "en-it", "--src", src, "--mt", mt)
    assert result.stdout == f"{CORRECTED}\n"
    assert "Model: house.en-it (texts of house.en-it)" in result.stderr
    assert result.stderr.count("Model:") == 1


def test_files_of_several_pairs_need_a_named_model(run: Any, world: World, tmp_path: Path) -> None:
    run("models", "fetch", "en-de", "en-fr", "--from", world.releases)
    for name, language in (("a", "de-AT"), ("b", "de"), ("c", "fr")):
        given = write(tmp_path / f"in/{name}.xlf", unit(1, *PAIR))
        given.write_text(given.read_text().replace('target-language="de"', f'target-language="{language}"'))
    command = ("edit", tmp_path / "in", "--out", tmp_path / "out")
    message = refused(run(*command))
    assert f"en-de ({tmp_path}/in/a.xlf), en-fr ({tmp_path}/in/c.xlf); name a model" in message
    assert not (tmp_path / "out").exists()
    (tmp_path / "in/c.xlf").unlink()
    assert run(*command).exit_code == 0, "regions do not count"


def test_a_named_model_does_not_depend_on_the_languages_of_files(
    run: Any, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("models", "fetch", "en-de", "--from", world.releases)
    monkeypatch.setattr("postedit.jobs.translation_files.common_languages", lambda *_: pytest.fail("files are read"))
    given = write(tmp_path / "a.xlf", unit(1, *PAIR))
    assert run("edit", "en-de", given, "--out", tmp_path / "out.xlf").exit_code == 0


def test_a_fetched_model_is_checked_by_its_pair(run: Any, world: World, tmp_path: Path, monkeypatch: Any) -> None:
    assert "`postedit models fetch en-de` fetches it" in refused(run("check", "en-de"))
    run("models", "fetch", "en-de", "--from", world.releases)
    result = run("check", "en-de")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(f"{world.models / 'house.en-de-1'}: model of ")
    monkeypatch.chdir(tmp_path)
    Path("en-de.src").write_text("a\n")
    assert "house" not in run("check", "en-de").output, "a corpus of that name comes first"


def test_a_folder_that_looks_like_a_pair_is_a_folder(
    run: Any, world: World, lines: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my-run").mkdir()
    src, mt = lines
    assert "my-run/config.json: missing" in refused(run("edit", "my-run", "--src", src, "--mt", mt))
