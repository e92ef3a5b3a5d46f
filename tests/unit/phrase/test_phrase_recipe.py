from pathlib import Path

import pytest
from tests.unit.phrase.small_corpus import write_recipe

from postedit.core.errors import RecipeError
from postedit.phrase.phrase_recipe import is_phrase_recipe, load_phrase_recipe, parse_phrase_recipe

RECIPES = Path(__file__).resolve().parents[3] / "recipes"


def test_the_recipe_of_the_repository_is_sound() -> None:
    path = RECIPES / "phrase-based.toml"
    assert is_phrase_recipe(path)
    assert not is_phrase_recipe(RECIPES / "demo.toml")
    recipe = load_phrase_recipe(path, ["model.sample=10"], check_data=False)
    assert recipe.model.sample == 10
    assert parse_phrase_recipe(recipe.to_dict(), "again", None) == recipe


def test_paths_start_from_the_folder_of_the_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_recipe(tmp_path)
    monkeypatch.chdir("/")
    assert load_phrase_recipe(path).data.dir == str(tmp_path)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("[train]", "train: no such section"),
        ("[tune]\nmethod = 'mirra'", "tune.method: must be 'mira' or 'mert' (found 'mirra')"),
        ("[text]\ntokenizer = 'moses'", 'text: tokenizer = "moses" needs src_lang and tgt_lang'),
        ("[tune]\nround = 3", 'tune.round: no such option; did you mean "rounds"?'),
        ("text = 3", "text: must be a table, [text] (found 3)"),
    ],
)
def test_all_problems_are_reported(line: str, problem: str, tmp_path: Path) -> None:
    path = write_recipe(tmp_path)
    text = path.read_text().replace('dev = "dev"', 'dev = "none"')
    path.write_text(f"{line}\n{text}" if " = " in line.splitlines()[0] else f"{text}{line}\n")
    with pytest.raises(RecipeError) as raised:
        load_phrase_recipe(path)
    assert problem in str(raised.value)
    assert "none.src" in str(raised.value)


def test_sampling_weights_are_refused(tmp_path: Path) -> None:
    path = write_recipe(tmp_path)
    path.write_text(path.read_text().replace('train = "train"', 'train = [{files = "train", weight = 3}]'))
    with pytest.raises(RecipeError, match=r"data\.train\.0: a phrase-based model reads each triplet once"):
        load_phrase_recipe(path)
