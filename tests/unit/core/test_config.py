"""Configuration is checked whole, and what is wrong is said in terms of what the user wrote."""

import ast
import math
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from pydantic import Field, model_validator

import postedit
from postedit.core.config import Config, check_config, load_config, override, problem_report, read_toml
from postedit.core.errors import DataError, PosteditError, RecipeError
from postedit.core.search_config import SearchConfig


class Layer(Config):
    """A section inside another."""

    width: int = Field(4, ge=1)
    kind: Literal["soft", "hard"] = "soft"
    span: Annotated[tuple[float, float], Field(strict=False)] = (0.0, 1.0)


class Section(Config):
    """A section."""

    dropout: float = Field(0.1, ge=0, lt=1)
    size: int | None = None
    steps: int
    rate: float = 1.0
    names: list[str] | str = "x"
    layer: Layer = Layer()
    layers: list[Layer] = Field(default_factory=list)
    by_name: dict[str, Layer] = Field(default_factory=dict)
    extra: Layer | None = None

    @model_validator(mode="after")
    def _even(self) -> "Section":
        if self.steps % 2:
            raise ValueError("steps must be even")
        return self


def lines(values: dict[str, Any]) -> list[str]:
    with pytest.raises(RecipeError) as caught:
        load_config(Section, values, "recipe.toml")
    first, *problems = str(caught.value).split("\n")
    count = len(problems)
    assert first == f"recipe.toml: {count} problem" + ("s" if count > 1 else "")
    assert all(problem.startswith("  - ") for problem in problems)
    return [problem.removeprefix("  - ") for problem in problems]


def test_good_values_become_a_frozen_section() -> None:
    section = load_config(Section, {"steps": 2, "layer": {"width": 3}}, "here")
    assert (section.steps, section.layer.width, section.dropout) == (2, 3, 0.1)
    with pytest.raises(ValueError, match="frozen"):
        section.steps = 4  # type: ignore[misc]


def test_an_integer_does_for_a_real_number_and_nothing_else_is_converted() -> None:
    assert load_config(Section, {"steps": 2, "dropout": 0}, "here").dropout == 0.0
    assert len(lines({"steps": "2", "dropout": "0.1"})) == 2
    assert len(lines({"steps": 2.0})) == 1
    assert len(lines({"steps": True})) == 1


def test_numbers_of_numpy_become_python_ones() -> None:
    found = SearchConfig(beam=np.int64(4), edit_cost=np.float32(0.5), no_unk=np.True_)  # type: ignore[arg-type]
    assert [type(one) for one in (found.beam, found.edit_cost, found.no_unk)] == [int, float, bool]
    with pytest.raises(DataError, match="beam: must be a whole number"):
        SearchConfig(beam=True)


def test_all_problems_are_reported_with_found_and_allowed_values() -> None:
    problems = lines({"drop_out": 0.2, "dropout": 2.0, "layer": {"widht": 3, "kind": "sft"}, "size": "many"})
    report = "\n".join(problems)
    assert len(problems) == 6
    assert 'drop_out: no such option; did you mean "dropout"? (known here: ' in report
    assert "dropout: must be below 1 (found 2.0)" in report
    assert 'layer.widht: no such option; did you mean "width"? (known here: kind, span, width)' in report
    assert "layer.kind: must be 'soft' or 'hard' (found 'sft')" in report
    assert "size: must be a whole number (found 'many')" in report
    assert "steps: missing; it has no default" in report


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"layer": 3}, "layer: must be a table (found 3)"),
        ({"layers": 3}, "layers: must be a list (found 3)"),
        ({"by_name": 3}, "by_name: must be a table (found 3)"),
        ({"dropout": "x"}, "dropout: must be a number (found 'x')"),
        ({"dropout": -1}, "dropout: must be at least 0 (found -1)"),
        ({"size": 1.5}, "size: must be a whole number (found 1.5)"),
        ({"layer": {"span": [0.5]}}, "layer.span: must have 2 entries (it has 1) (found [0.5])"),
        ({"layers": [{"span": []}]}, "layers.0.span: must have 2 entries (it has 0) (found [])"),
    ],
)
def test_messages_are_in_words_of_users(values: dict[str, Any], problem: str) -> None:
    assert lines({"steps": 2, **values}) == [problem]


def test_problems_inside_sections_that_may_be_texts_say_where() -> None:
    with pytest.raises(DataError, match=r'^required\.0\.sorce: no such option; did you mean "source"\?'):
        SearchConfig(required=[{"target": "Haus", "sorce": "house"}])


def test_problems_inside_lists_and_tables_of_sections_say_where() -> None:
    (problem,) = lines({"steps": 2, "layers": [{"width": 1}, {"widht": 3}]})
    assert problem.startswith('layers.1.widht: no such option; did you mean "width"?')
    (problem,) = lines({"steps": 2, "by_name": {"en": {"widht": 3}}})
    assert problem.startswith('by_name.en.widht: no such option; did you mean "width"?')
    (problem,) = lines({"steps": 2, "extra": {"widht": 3}})
    assert problem.startswith('extra.widht: no such option; did you mean "width"?')


@pytest.mark.parametrize("name", ["str", "list", "two words", "größe", "", "a.b"])
def test_any_unknown_key_is_named(name: str) -> None:
    (problem,) = lines({"steps": 2, name: 1})
    assert problem.startswith(f"{name}: no such option")


def test_a_rule_over_several_options_speaks_for_itself() -> None:
    assert lines({"steps": 3}) == ["steps must be even"]


def test_a_prefix_names_the_section() -> None:
    assert check_config(Section, {"steps": 2}, "train.")[1] == []
    config, problems = check_config(Section, {"layer": {"width": 0}}, "train.")
    assert config is None
    assert problems == [
        "train.steps: missing; it has no default",
        "train.layer.width: must be at least 1 (found 0)",
    ]
    assert check_config(Section, {"steps": 3}, "train.")[1] == ["train: steps must be even"]


def test_problem_reports_count() -> None:
    assert str(problem_report("x", ["a"])) == "x: 1 problem\n  - a"
    assert str(problem_report("x", iter(["a", "b"]))) == "x: 2 problems\n  - a\n  - b"
    assert isinstance(problem_report("x", []), PosteditError)


class TestOverride:
    def test_values_are_toml_or_else_text(self) -> None:
        assignments = ["a=3", "b=3e-4", "c=true", "d=text with spaces", 'e="3"', "f=[1, 2]", "g=", "h=x=y", " i = 5 "]
        assert override({}, assignments) == {
            "a": 3, "b": 3e-4, "c": True, "d": "text with spaces", "e": "3", "f": [1, 2], "g": "", "h": "x=y", "i": 5,
        }  # fmt: skip

    def test_dots_go_into_tables_and_the_given_values_stay(self) -> None:
        values = {"train": {"lr": 1, "steps": 2}}
        assert override(values, ["train.lr=5", "model.size.x=1", "train.lr=6"]) == {
            "train": {"lr": 6, "steps": 2},
            "model": {"size": {"x": 1}},
        }
        assert values == {"train": {"lr": 1, "steps": 2}}

    def test_a_value_that_looks_like_more_toml_is_text(self) -> None:
        assert override({}, ["a=1\nb = 2"]) == {"a": "1\nb = 2"}

    @pytest.mark.parametrize("assignment", ["train.lr", "=3", "train.=3", ".lr=3", "a..b=3", ""])
    def test_an_override_without_an_equals_sign_is_refused_with_an_example(self, assignment: str) -> None:
        with pytest.raises(RecipeError, match=r"write it as option=value, for instance .train\.lr=3e-4"):
            override({}, [assignment])

    def test_a_value_has_no_options(self) -> None:
        with pytest.raises(RecipeError, match=r"--set train\.lr\.x=1: lr is a value, not a table"):
            override({"train": {"lr": 1}}, ["train.lr.x=1"])


class TestReadToml:
    def test_reads(self, tmp_path: Path) -> None:
        path = tmp_path / "recipe.toml"
        path.write_text('[model]\nname = "größer"\n', encoding="utf-8")
        assert read_toml(path) == {"model": {"name": "größer"}}

    def test_a_byte_order_mark_is_not_text(self, tmp_path: Path) -> None:
        path = tmp_path / "recipe.toml"
        path.write_bytes(b"\xef\xbb\xbfa = 1\n")
        assert read_toml(path) == {"a": 1}

    def test_a_missing_file(self, tmp_path: Path) -> None:
        with pytest.raises(RecipeError, match=r"none\.toml: no such recipe"):
            read_toml(tmp_path / "none.toml")

    def test_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(RecipeError, match=r"cannot be read: Is a directory"):
            read_toml(tmp_path)

    def test_bytes_that_are_not_utf8(self, tmp_path: Path) -> None:
        path = tmp_path / "recipe.toml"
        path.write_bytes(b'a = "\xff"\n')
        with pytest.raises(RecipeError, match=r"byte 5 is not UTF-8"):
            read_toml(path)

    def test_invalid_toml_is_reported_with_its_line(self, tmp_path: Path) -> None:
        path = tmp_path / "recipe.toml"
        path.write_text("a = 1\nb =\n")
        with pytest.raises(RecipeError, match=r"recipe\.toml: not valid TOML: .*line 2"):
            read_toml(path)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_numbers_that_are_not_finite_are_refused(value: float) -> None:
    (problem,) = lines({"steps": 2, "rate": value})
    assert problem.startswith("rate: must be a finite number")


CONSTRUCTED = (
    "core/search_config.py",
    "files/options.py",
    "adapt/adaptation_config.py",
    "phrase/phrase_options.py",
    "llm/endpoint_options.py",
)
"""Files with options that users of the Python interface construct."""


class TestConstructionInPython:
    @pytest.mark.parametrize("name", CONSTRUCTED)
    def test_type_checkers_see_which_options_have_a_default(self, name: str) -> None:
        # Without plugins, they take an option for required unless `Field` gets `default` by name (PEP 681).
        tree = ast.parse((Path(postedit.__file__).parent / name).read_text(encoding="utf-8"))
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "Field"]
        assert calls
        assert not [ast.unparse(call) for call in calls if call.args]

    @pytest.mark.parametrize(
        ("values", "said"),
        [
            ({"steps": 1, "droput": 0.5}, r'droput: no such option; did you mean "dropout"\?'),
            ({"steps": 1, "dropout": 2.0}, r"dropout: must be below 1 \(found 2.0\)"),
            ({}, "steps: missing"),
        ],
    )
    def test_mistakes_are_data_errors(self, values: dict[str, Any], said: str) -> None:
        with pytest.raises(DataError, match=said):
            Section(**values)

    def test_sections_inside_are_named_in_full_in_a_file(self) -> None:
        assert [line.split(":")[0] for line in lines({"layer": {"width": 0}, "rate": "x"})] == [
            "steps", "rate", "layer.width"
        ]  # fmt: skip
