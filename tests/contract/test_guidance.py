"""Laws 9 and 10 under guidance: what a guided search returns is the best of what it may return, with its true score."""

import functools
import itertools
import math
import random
from collections.abc import Callable, Iterable, Sequence

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein
from tiny import TOLERANCES, Sentence, alone, batch_of, build, random_sentences, tried, vocabularies

from postedit.core.model import Seq2Seq
from postedit.core.special_tokens import BOS, EOS, PAD, SPECIAL_TOKENS, STEP
from postedit.core.token_spelling import Spelling
from postedit.search import Guidance, Hypothesis, SearchConfig, beam_search, draft_decode, greedy
from postedit.search.edit_distance import Distances, EditCost, MaxEdits, PostEditPenalty
from postedit.search.lexical_constraints import Banned, BannedPhrases, Beginning, MissingPhrases, Required
from postedit.search.repetition import NoRepeat
from postedit.search.rules import Rules

SIZE = 9
SPELLING = Spelling([""] * len(SPECIAL_TOKENS) + [" a", " b", "b"], str.isalpha)
MODELS = ["transference", "m-cgru-hard", "copycat-trg"]
NATS = 0.8

seeds = st.integers(0, 2**32)


@pytest.fixture(scope="module", params=MODELS)
def model(request: pytest.FixtureRequest) -> Seq2Seq:
    """Return a tiny model that writes three letters."""
    return build(request.param, torch.float64, seed=5, sizes=vocabularies(target=SIZE)).requires_grad_(False)


def letters(tokens: Sequence[int]) -> list[int]:
    """Return the symbols that guidance counts."""
    return [token for token in tokens if token != STEP]


def mt_of(sentence: Sentence) -> list[int]:
    return sentence.inputs.get("mt", sentence.pe)[:-1]


def distances(sentences: Sequence[Sentence]) -> Distances:
    texts = [mt_of(sentence) for sentence in sentences]
    width = max(1, *map(len, texts))
    ids = torch.tensor([text + [PAD] * (width - len(text)) for text in texts])
    return Distances.of(ids, torch.tensor([len(text) for text in texts]))


def marked(tokens: Sequence[int]) -> str:
    """Return the text with a mark for symbols that have none, but for STEPs."""
    return "".join(SPELLING.texts[token] or "?" for token in letters(tokens))


def has(tokens: Sequence[int], word: str) -> bool:
    return word in SPELLING.spell(tokens).split()


Rule = Callable[[Sentence, Sequence[int]], bool]
Price = Callable[[Sentence, Sequence[int]], float]


class Kind:
    """A guidance, and what it means: which outputs are allowed, and what is added to their scores."""

    def __init__(
        self,
        of: Callable[[Sequence[Sentence]], Guidance],
        allows: Rule = lambda sentence, tokens: True,
        price: Price = lambda sentence, tokens: 0.0,
    ) -> None:
        self.of, self.allows, self.price = of, allows, price


def start(machine, state, sentences: Sequence[Sentence]):
    return machine.start([state] * len(sentences), SIZE, torch.device("cpu"))


KINDS = {
    "max edits": Kind(
        lambda some: Guidance(guards=(MaxEdits(distances(some), 2, SIZE),)),
        allows=lambda sentence, tokens: Levenshtein.distance(mt_of(sentence), letters(tokens)) <= 2,
    ),
    "edit cost": Kind(
        lambda some: Guidance(biases=(EditCost(distances(some), NATS, SIZE),)),
        price=lambda sentence, tokens: -NATS * Levenshtein.distance(mt_of(sentence), letters(tokens)),
    ),
    "keep": Kind(
        lambda some: Guidance(biases=(PostEditPenalty.of(distances(some).mt, NATS, SIZE),)),
        price=lambda sentence, tokens: (
            -NATS * sum(token not in (*mt_of(sentence), PAD, STEP) for token in tokens if token != STEP)
        ),
    ),
    "no repeat": Kind(
        lambda some: Guidance(guards=(NoRepeat.of(1, (torch.full((len(some), 1), PAD),), SIZE),)),
        allows=lambda sentence, tokens: all(text.count(one) <= 1 for text in [tokens] for one in set(letters(text))),
    ),
    "banned": Kind(
        lambda some: Guidance(guards=(start(Banned(SPELLING, ["b"]), BannedPhrases(frozenset(["b"])), some),)),
        allows=lambda sentence, tokens: not any(has(tokens[: n + 1], "b") for n in range(len(tokens))),
    ),
    "beginning": Kind(
        lambda some: Guidance(guards=(start(Beginning(SPELLING), " ab", some),)),
        allows=lambda sentence, tokens: marked(tokens).startswith(" ab"),
    ),
    "required": Kind(
        lambda some: Guidance(goals=(start(Required(SPELLING, ["b"]), MissingPhrases(frozenset("b")), some),)),
        allows=lambda sentence, tokens: has(tokens, "b"),
    ),
    "all": Kind(
        lambda some: Guidance(
            guards=(start(Beginning(SPELLING), " a", some), NoRepeat.of(2, (distances(some).mt,), SIZE)),
            goals=(start(Required(SPELLING, ["ab"]), MissingPhrases(frozenset({"ab"})), some),),
            biases=(EditCost(distances(some), NATS, SIZE), PostEditPenalty.of(distances(some).mt, NATS, SIZE)),
        )
    ),
}


@pytest.fixture(scope="module")
def forced_scores(model: Seq2Seq) -> list[tuple[Sentence, Callable[[int], dict[tuple[int, ...], float]]]]:
    """Return sentences, each with a function that scores all outputs of a length once for all guidances."""
    symbols = [token for token in range(SIZE) if token not in (PAD, BOS, EOS)]

    def cached(sentence: Sentence) -> Callable[[int], dict[tuple[int, ...], float]]:
        @functools.cache
        def of_length(length: int) -> dict[tuple[int, ...], float]:
            outputs = [*itertools.product(symbols, repeat=length)]
            state = model.encode(batch_of([sentence])).select(torch.zeros(len(outputs), dtype=torch.long))
            log_probs = model.decode(torch.tensor([[BOS, *tokens] for tokens in outputs]), state)[0].log_probs
            labels = torch.tensor([[*tokens, EOS] for tokens in outputs])
            return dict(zip(outputs, log_probs.gather(2, labels.unsqueeze(2)).sum((1, 2)).tolist(), strict=True))

        return of_length

    return [(sentence, cached(sentence)) for sentence in random_sentences(random.Random(4), model, count=3, longest=3)]


def score(model: Seq2Seq, sentence: Sentence, tokens: Sequence[int]) -> list[float]:
    log_probs = alone(model, sentence, [BOS, *tokens])
    return log_probs.gather(1, torch.tensor([*tokens, EOS]).unsqueeze(1)).squeeze(1).tolist()


COSTS = [0.0, 0.1, 0.3, 0.8, 2.0, 8.0]


@pytest.mark.parametrize(("bias", "length_penalty"), [("edit cost", 0.0), ("edit cost", 1.0), ("keep", 1.0)])
def test_dearer_edits_are_fewer_and_what_stays_goes_on_staying(
    model: Seq2Seq, bias: str, length_penalty: float
) -> None:
    """The search is exhaustive: its optimum has fewer edits, by length where scores are, the more an edit costs."""
    sentences = random_sentences(random.Random(8), model, count=6, longest=3)
    limits = torch.full((len(sentences),), 2 if model.spec.writes != "tokens" else 3)
    searched = SearchConfig(beam=200, length_penalty=length_penalty)
    edits: list[list[float]] = []
    for cost in COSTS:
        away = distances(sentences)
        made = EditCost(away, cost, SIZE) if bias == "edit cost" else PostEditPenalty.of(away.mt, cost, SIZE)
        found = beam_search(model, batch_of(sentences), limits, searched, Guidance(biases=(made,)))
        prices = [
            -KINDS[bias].price(sentence, one.tokens) / NATS / searched.normaliser(len(one.tokens) + 1)
            for sentence, (one,) in zip(sentences, found, strict=True)
        ]
        edits.append(prices)
    assert sum(edits[0]) > sum(edits[-1]), "a cost makes a difference"
    for cheap, dear in itertools.pairwise(edits):
        assert all(many >= few - 1e-9 for many, few in zip(cheap, dear, strict=True))
        assert sum(map(bool, cheap)) >= sum(map(bool, dear))


@pytest.mark.parametrize("normalisation", ["power", pytest.param("wu", marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", [name for name in KINDS if name != "all"])
def test_law_9_a_wide_guided_beam_is_exhaustive(model: Seq2Seq, forced_scores, kind: str, normalisation: str) -> None:
    guided = KINDS[kind]
    sentences = [sentence for sentence, _ in forced_scores]
    steps = model.spec.writes != "tokens"
    limits = torch.tensor([(2 if steps else 3)] * 3)
    searched = SearchConfig(beam=200, n_best=8, length_penalty=0.7, normalisation=normalisation)  # type: ignore[arg-type]
    found = beam_search(model, batch_of(sentences), limits, searched, guided.of(sentences))
    for (sentence, scores), hypotheses in zip(forced_scores, found, strict=True):
        within = {one.tokens: one.rank(searched) for one in hypotheses if not one.stuck}
        longest = max([*map(len, within), int(limits[0])])
        expected = {}
        reachable = may_be_found(model, guided, sentence, int(limits[0]), longest, within)
        for tokens, total in (one for length in range(longest + 1) for one in scores(length).items()):
            if tokens in reachable and guided.allows(sentence, tokens):
                size = len(tokens) + 1
                total += guided.price(sentence, tokens)
                expected[tokens] = total / (size if normalisation == "power" else (5 + size) / 6) ** 0.7
        best = sorted(expected.values(), reverse=True)[:8]
        assert list(within.values()) == pytest.approx(best, rel=0, abs=1e-6)
        assert [expected[tokens] for tokens in within] == pytest.approx(best, rel=0, abs=1e-6)


def may_be_found(
    model: Seq2Seq, guided: Kind, sentence: Sentence, limit: int, longest: int, found: Iterable[tuple[int, ...]]
) -> set[tuple[int, ...]]:
    """Return the outputs that the grammar allows, and whose way the limit forces nothing on, unless they were `found`.

    The outputs of one length are rows of one set of rules: each beginning is walked once.
    """
    found = set(found)
    begun = {tokens[:length] for tokens in found for length in range(len(tokens) + 1)}
    rules = Rules.of(model, batch_of([sentence]), torch.tensor([limit]), guided.of([sentence]))
    reachable, texts, free = set[tuple[int, ...]](), [()], [True]
    for length in range(longest + 1):
        allowed = torch.ones(len(texts), SIZE, dtype=torch.bool)
        for constraint in rules.grammar:
            allowed &= constraint.allowed()
        for text, may_end, unforced in zip(texts, allowed[:, EOS].tolist(), free, strict=True):
            if may_end and (unforced or text in found):
                reachable.add(text)
        free = (torch.tensor(free) & (rules.limits > length + rules.to_end())).tolist()
        allowed[:, [PAD, BOS, EOS]] = False
        steps = [
            (row, token) for row, token in allowed.nonzero().tolist() if free[row] or (*texts[row], token) in begun
        ]
        if not steps:
            break
        rows, tokens = torch.tensor(steps).T
        texts, free = [(*texts[row], token) for row, token in steps], [free[row] for row, _ in steps]
        rules = rules.select(rows).advance(tokens)
    return reachable


@tried(3)
@given(seed=seeds, beam=st.integers(1, 5), kind=st.sampled_from(list(KINDS)))
def test_law_9_guided_hypotheses_have_forced_score_and_price(model: Seq2Seq, seed: int, beam: int, kind: str) -> None:
    rng = random.Random(seed)
    guided = KINDS[kind]
    sentences = random_sentences(rng, model, count=3)
    limits = torch.tensor([rng.randint(1, 9) for _ in sentences])
    batch = batch_of(sentences)
    lists = beam_search(model, batch, limits, SearchConfig(beam=beam, n_best=beam), guided.of(sentences))
    lists += [[one] for one in greedy(model, batch, limits, guided.of(sentences))]
    for sentence, hypotheses in zip(sentences * 2, lists, strict=True):
        for hypothesis in hypotheses:
            if hypothesis.stuck:
                assert kind == "all" or (kind in ("no repeat", "max edits") and beam < 5)
                continue
            assert guided.allows(sentence, hypothesis.tokens)
            expected = score(model, sentence, hypothesis.tokens)
            assert hypothesis.token_scores == pytest.approx(expected, rel=0, abs=TOLERANCES[torch.float64])
            if kind != "all":
                assert hypothesis.bias == pytest.approx(guided.price(sentence, hypothesis.tokens), rel=0, abs=1e-6)


@tried(3)
@given(seed=seeds, kind=st.sampled_from([name for name in KINDS if name not in ("required", "all")]))
@example(seed=7113, kind="max edits")  # the best token cannot be followed by an end within the limit
def test_a_guided_beam_of_one_equals_guided_greedy_search(model: Seq2Seq, seed: int, kind: str) -> None:
    rng = random.Random(seed)
    sentences = random_sentences(rng, model, count=4)
    limits = torch.tensor([rng.randint(0, 9) for _ in sentences])
    batch, guided = batch_of(sentences), KINDS[kind]
    beams = [one for (one,) in beam_search(model, batch, limits, SearchConfig(), guided.of(sentences))]
    singles = greedy(model, batch, limits, guided.of(sentences))
    assert [one.stuck or one.tokens for one in beams] == [one.stuck or one.tokens for one in singles]


@tried(3)
@given(seed=seeds, beam=st.integers(1, 4), kind=st.sampled_from(list(KINDS)))
def test_law_6_a_guided_beam_does_not_depend_on_the_batch(model: Seq2Seq, seed: int, beam: int, kind: str) -> None:
    rng = random.Random(seed)
    sentences = random_sentences(rng, model, count=3)
    limits = torch.tensor([rng.randint(0, 9) for _ in sentences])
    searched, guided = SearchConfig(beam=beam), KINDS[kind]
    together = beam_search(model, batch_of(sentences, columns=1, junk=rng), limits, searched, guided.of(sentences))
    for sentence, limit, (hypothesis,) in zip(sentences, limits, together, strict=True):
        ((single,),) = beam_search(model, batch_of([sentence]), limit.unsqueeze(0), searched, guided.of([sentence]))
        assert_alike(searched, hypothesis, single)


def assert_alike(searched: SearchConfig, one: Hypothesis, other: Hypothesis) -> None:
    assert one.stuck == other.stuck
    if not one.stuck:
        assert math.isclose(one.rank(searched), other.rank(searched), rel_tol=0, abs_tol=1e-6)


@pytest.mark.parametrize("kind", ["max edits", "beginning", "required", "all"])
@tried(3)
@given(seed=seeds, limit=st.integers(1, 8))
def test_guided_outputs_stay_within_their_length_limits(model: Seq2Seq, kind: str, seed: int, limit: int) -> None:
    sentences = random_sentences(random.Random(seed), model, count=3, longest=6)
    batch, guidance, limits = batch_of(sentences), KINDS[kind].of(sentences), torch.tensor([limit] * 3)
    found = beam_search(model, batch, limits, SearchConfig(beam=3, n_best=3), guidance)
    drafted = draft_decode(model, batch, [mt_of(sentence) for sentence in sentences], limits, guidance)
    greedily = greedy(model, batch, limits, guidance)
    assert [one.tokens for one in drafted] == [one.tokens for one in greedily]
    raised = Rules.of(model, batch, limits, guidance).limits.tolist()
    for most, one, several in zip(raised, greedily, found, strict=True):
        assert max(len(output.tokens) for output in (one, *several)) <= most
