"""A small neural model that learns from made-up triplets, one word of which is always corrected."""

import random

import pytest
import torch

from postedit.adapt.correction import Correction
from postedit.core.editor import PostEdit
from postedit.jobs.small_neural_model import neural_learner
from postedit.phrase.phrase_options import PhraseTextConfig

TEXT = PhraseTextConfig()


def triplets(count: int) -> list[Correction]:
    draw, found = random.Random(count), []
    for number in range(count):
        mt = draw.choices([f"w{n}" for n in range(20)], k=6)
        mt[draw.randrange(6)] = "wrong" if number % 2 else "w1"
        pe = ["right" if word == "wrong" else word for word in mt]
        found.append(Correction(f"s{number}", " ".join(mt), " ".join(pe)))
    return found


def outputs(
    learnt: list[Correction], tried: list[Correction], updates: int, text: PhraseTextConfig = TEXT
) -> list[PostEdit]:
    editor = neural_learner(text, updates)(learnt)
    return editor.edit([one.src for one in tried], [one.mt for one in tried])


@pytest.mark.slow
def test_a_correction_that_is_always_made_is_learnt() -> None:
    found = outputs(triplets(80), others := triplets(30), 120)
    right = [edit.text == one.pe for edit, one in zip(found, others, strict=True)]
    assert sum(right) >= 27
    assert sum(edit.changed for edit in found) >= 12


def test_before_it_has_learnt_it_leaves_mt_as_it_is() -> None:
    assert not any(edit.changed for edit in outputs(triplets(80), triplets(30), 1))


def test_an_application_may_learn_in_inference_mode() -> None:
    with torch.inference_mode():
        assert len(outputs(triplets(80), triplets(3), 1)) == 3


@pytest.mark.slow
def test_same_triplets_give_same_outputs_and_other_random_numbers_stay() -> None:
    state = torch.get_rng_state()
    first = [(edit.text, edit.score) for edit in outputs(triplets(40), triplets(10), 12)]
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(123)
    assert [(edit.text, edit.score) for edit in outputs(triplets(40), triplets(10), 12)] == first


@pytest.mark.slow
def test_running_text_keeps_its_form() -> None:
    learnt = [Correction(f"Good day, {n}.", f"Guten Tag, {n}.", f"Grüß Gott, {n}.") for n in range(40)]
    text = PhraseTextConfig(tokenizer="moses", src_lang="en", tgt_lang="de")
    (found,) = outputs(learnt, [Correction("Good day, 55.", "Guten Tag, 55.", "?")], 60, text)
    assert found.text == "Grüß Gott, 55."
