"""Prompts: their fields and names, what is refused, and what they do not show."""

import json
from pathlib import Path

import pytest
from stub_server import Stub
from tests.unit.llm.conftest import MakeEditor, segments

from postedit.adapt.learning_editor import SimilarCorrections
from postedit.core.errors import DataError, RecipeError
from postedit.llm.prompts import Prompt
from postedit.text.glossary import Glossary, GlossaryEntry


class TestPrompts:
    def test_a_prompt_of_the_user(self, make_editor: MakeEditor, tmp_path: Path) -> None:
        path = tmp_path / "mine.toml"
        path.write_text(
            'name = "mine"\nversion = 3\nuser = "To {target_language}{direction}. Segments:\\n{segments}\\n\\n'
            'Answer with one JSON object"\n',
            encoding="utf-8",
        )
        with Stub() as stub:
            editor = make_editor(stub, prompt=str(path))
            editor.edit_segments(segments(1))
        assert editor.prompt.signature.startswith("mine.v3.")
        assert [one["role"] for one in stub.bodies[0]["messages"]] == ["user"]
        assert stub.bodies[0]["messages"][0]["content"].startswith("To German from English to German. Segments:\n{")

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ('name = "x"\nversion = 1\nuser = "none"\n', "must have the field"),
            ('name = "x"\nversion = 1\nuser = "{segments} {exampels}"\n', 'did you mean "examples"'),
            ('name = "x"\nversion = 1\nuser = "{segments} {Terms}"\n', '{Terms} is not a field; did you mean "terms"'),
            ('name = "x"\nversion = 1\nuser = "{segments} { terms }"\n', "{ terms } is not a field; did you mean"),
            (
                'name = "x"\nversion = 1\nsystem = "{src1}"\nuser = "{segments}"\n',
                "{src1} is not a field.*write {{src1}} if",
            ),
            ('name = "x"\nversion = 1\nuser = "{{segments}}"\n', "must have the field"),
            (
                'name = "x"\nversion = 1\nsystem = "{target-language}"\nuser = "{segments}"\n',
                'did you mean "target_language"',
            ),
            ('name = "a|b"\nversion = 1\nuser = "{segments}"\n', "name: must be letters, digits"),
            ('name = "a\\nb"\nversion = 1\nuser = "{segments}"\n', "name: must be letters, digits"),
            ('name = "a\\u001b[1mb"\nversion = 1\nuser = "{segments}"\n', "name: must be letters, digits"),
            ('name = "x"\nuser = "{segments}"\nverson = 1\n', "verson: no such option"),
        ],
    )
    def test_prompts_with_faults_are_refused(self, tmp_path: Path, text: str, problem: str) -> None:
        path = tmp_path / "mine.toml"
        path.write_text(text, encoding="utf-8")
        with pytest.raises(RecipeError, match=problem):
            Prompt.load(str(path))

    def test_prompts_may_have_json_in_braces(self, tmp_path: Path) -> None:
        path = tmp_path / "mine.toml"
        shown = '{"a": {"b": [1, {}]}} {} {1} {...} { "x" } {a b}'
        path.write_text(
            f"name = 'Ä b-c_d.1'\nversion = 1\nuser = {json.dumps('{segments} ' + shown)}\n", encoding="utf-8"
        )
        (message,) = Prompt.load(str(path)).messages(["one"])
        assert message["content"] == f"one {shown}"

    def test_names_in_two_pairs_of_braces_are_not_filled(self, tmp_path: Path) -> None:
        path = tmp_path / "mine.toml"
        path.write_text(
            'name = "x"\nversion = 1\n'
            'system = "Keep {{segments}}, {{userName}}, {{ user-name }}, {{{name}}}, {{0}} and {1}"\n'
            'user = "{{terms}}{segments}"\n',
            encoding="utf-8",
        )
        prompt = Prompt.load(str(path))
        system, user = prompt.messages(["one {{two}}"], terms=["three"])
        assert system["content"] == "Keep {segments}, {userName}, { user-name }, {{name}}, {0} and {1}"
        assert user["content"] == "{terms}one {{two}}"
        assert not prompt.config.shows("terms")

    def test_what_a_prompt_does_not_show_is_not_ignored_silently(
        self, make_editor: MakeEditor, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        path = tmp_path / "mine.toml"
        path.write_text('name = "mine"\nversion = 1\nuser = "Segments:\\n{segments}"\n', encoding="utf-8")
        glossary = Glossary([GlossaryEntry("house", ("Haus",))])
        with Stub() as stub:
            with pytest.raises(DataError, match=r"mine\.toml: has no field {examples} for corrections; leave --memory"):
                make_editor(stub, prompt=str(path), memory=SimilarCorrections())
            plain = make_editor(stub, prompt=str(path))
            assert not caplog.messages
            other = make_editor(stub, prompt=str(path), glossary=glossary)
            assert "has no field {terms}" in caplog.text
            assert other.identity() == plain.identity(), "what the model does not see does not change its answers"
            caplog.clear()
            make_editor(stub, glossary=glossary, memory=SimilarCorrections())
            assert not caplog.messages

    def test_a_region_or_script_is_named_beside_the_language(self) -> None:
        for languages, named in (
            (("EN", "zh-TW"), "from English to Chinese (zh-TW)"),
            (("pt_BR", "sr-Latn"), "from Portuguese (pt_BR) to Serbian (sr-Latn)"),
            (("fa", "gd-GB"), "from Persian to gd-GB"),
        ):
            assert named in Prompt.load("minimal", languages).messages(["x"])[0]["content"]

    def test_unknown_prompts_are_named(self) -> None:
        with pytest.raises(RecipeError, match='no prompt minimum; did you mean "minimal"'):
            Prompt.load("minimum")

    def test_signatures_change_with_any_word(self) -> None:
        prompts = [Prompt.load(name) for name in ("plain", "minimal", "error-spans")]
        assert len({prompt.signature for prompt in prompts}) == 3
        changed = prompts[0].config.model_copy(update={"system": prompts[0].config.system + " "})
        assert Prompt(changed).signature != prompts[0].signature
