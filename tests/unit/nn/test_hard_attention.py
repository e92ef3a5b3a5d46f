"""Hard attention: positions after each token, the grammar of STEP and EOS, and models that write by it."""

import pytest
import torch

from postedit.core.model import Seq2Seq, Vocabularies, VocabularyInfo
from postedit.core.special_tokens import BOS, EOS, PAD, SPECIAL_TOKENS, STEP
from postedit.core.types import Batch, Stream
from postedit.models.conditional_gru import CGRU, CGRUHard, ConditionalGRUConfig, GRUHard, MCGRUHard
from postedit.nn.hard_attention import StepGrammar, hard_positions
from postedit.search import greedy

A, SIZE = len(SPECIAL_TOKENS), len(SPECIAL_TOKENS) + 3
PE = VocabularyInfo(SIZE, "pe")
VOCABULARIES = Vocabularies({"src": PE, "mt": PE}, PE)


def test_each_step_moves_on_by_one_until_the_last_position() -> None:
    tokens = torch.tensor([[BOS, A, STEP, A, STEP], [STEP, STEP, A, STEP, EOS]])
    positions = hard_positions(torch.tensor([0, 1]), torch.tensor([3, 2]), tokens)
    assert positions.tolist() == [[0, 0, 1, 1, 2], [2, 2, 2, 2, 2]]


def test_steps_come_before_the_last_position_and_the_end_there() -> None:
    grammar = StepGrammar.of(torch.tensor([1, 3]), SIZE)
    others = [token for token in range(SIZE) if token not in (STEP, EOS)]
    for steps in ([0, 2], [0, 1], [0, 0]):
        at_end = [left == 0 for left in steps]
        assert grammar.to_end().tolist() == steps
        assert grammar.allowed()[:, EOS].tolist() == at_end
        assert grammar.allowed()[:, STEP].tolist() == [not end for end in at_end]
        assert grammar.allowed()[:, others].all()
        assert grammar.closing().tolist() == [EOS if end else STEP for end in at_end]
        grammar = grammar.advance(torch.tensor([A, A])).advance(torch.tensor([STEP, STEP]))
    assert StepGrammar.of(torch.tensor([1, 3]), SIZE).select(torch.tensor([1, 0, 1])).to_end().tolist() == [2, 0, 2]


def texts(model: Seq2Seq) -> Batch:
    ids = torch.tensor([[A, A + 1, A, EOS], [A, EOS, PAD, PAD], [EOS, PAD, PAD, PAD]])
    return Batch({name: Stream(ids, ids != PAD) for name in model.spec.inputs})


@pytest.mark.parametrize("model_class", [GRUHard, CGRUHard, MCGRUHard])
def test_whatever_a_model_would_rather_write_it_steps_through_all_of_mt(model_class: type[Seq2Seq]) -> None:
    torch.manual_seed(0)
    model = model_class(ConditionalGRUConfig(embedding=4, hidden=4), VOCABULARIES).eval()
    for token in (EOS, STEP, A):
        with torch.no_grad():
            model.head.bias.zero_()[token] = 9.0
            written = greedy(model, texts(model), torch.tensor([6, 6, 6]))
        assert [one.tokens.count(STEP) for one in written] == [3, 1, 0]


def test_without_hard_attention_there_is_no_grammar() -> None:
    model = CGRU(ConditionalGRUConfig(embedding=4, hidden=4), VOCABULARIES)
    assert model.constraints(texts(model)) == ()
