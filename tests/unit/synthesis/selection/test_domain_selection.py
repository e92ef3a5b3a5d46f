"""N-gram models: probabilities that sum to 1, and the values of the formula on a text small enough for loops."""

import random
import sys
from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest

from postedit.core.errors import DataError, RecipeError
from postedit.synthesis.selection.domain_selection import CrossEntropyDifference, estimate_ngrams, select_sentences

HAS_KENLM = find_spec("kenlm") is not None


class Arpa:
    """An n-gram model in an ARPA file; it stands in for KenLM where that is not installed."""

    def __init__(self, path: str | Path) -> None:
        self.logs: dict[tuple[str, ...], float] = {}
        self.backoffs: dict[tuple[str, ...], float] = {}
        for line in Path(path).read_text().splitlines():
            log, *rest = line.split("\t")
            if rest:
                gram = tuple(rest[0].split(" "))
                self.logs[gram], self.backoffs[gram] = float(log), float(rest[1]) if len(rest) > 1 else 0.0
        self.order = max(map(len, self.logs))

    def log(self, context: Sequence[str], word: str) -> float:
        """Return the common logarithm of the probability of a word after others of the same sentence."""
        *before, last = (one if (one,) in self.logs else "<unk>" for one in (*context, word))
        return self._log(tuple(before[1 - self.order :]), last)

    def score(self, text: str) -> float:
        """Return the common logarithm of the probability of a sentence and its end."""
        words = ["<s>", *text.split(" "), "</s>"]
        return sum(self.log(words[:place], words[place]) for place in range(1, len(words)))

    def _log(self, context: tuple[str, ...], word: str) -> float:
        if (*context, word) in self.logs:
            return self.logs[*context, word]
        return self.backoffs.get(context, 0.0) + self._log(context[1:], word)


@pytest.fixture
def _kenlm(monkeypatch: pytest.MonkeyPatch) -> None:
    if not HAS_KENLM:
        monkeypatch.setitem(sys.modules, "kenlm", SimpleNamespace(Model=Arpa))


def text(seed: int, sentences: int = 300, vocabulary: int = 30) -> list[str]:
    rng = random.Random(seed)
    weights = [1 / (i + 1) for i in range(vocabulary)]
    return [
        " ".join(f"w{i}" for i in rng.choices(range(vocabulary), weights, k=rng.randint(1, 12)))
        for _ in range(sentences)
    ]


@pytest.mark.parametrize("order", [2, 3, 4])
@pytest.mark.parametrize("sentences", [3, 300])
def test_probabilities_after_a_context_sum_to_one(tmp_path: Path, order: int, sentences: int) -> None:
    estimate_ngrams(text(1, sentences), order, tmp_path / "model.arpa")
    model = Arpa(tmp_path / "model.arpa")
    words = sorted({word for line in text(1, sentences) for word in line.split()})
    for context in ([], ["w0"], ["w0", "w1"], ["w2", "w0", "w1"], ["unseen", "w3"], ["w1", "unseen"]):
        total = sum(10 ** model.log(["<s>", *context], word) for word in [*words, "</s>", "unheard of"])
        assert total == pytest.approx(1.0, abs=1e-4), context


def test_bigrams_are_those_of_the_formula(tmp_path: Path) -> None:
    lines = text(2)
    estimate_ngrams(lines, 2, tmp_path / "model.arpa")
    model = Arpa(tmp_path / "model.arpa")
    pairs = Counter(pair for line in lines for pair in zip(["<s>", *line.split()], [*line.split(), "</s>"]))
    kinds = Counter(second for _, second in pairs)  # after how many different words

    def discount(counts: Counter[object], count: int) -> float:
        n = Counter(counts.values())
        y = n[1] / (n[1] + 2 * n[2])
        return {1: 1 - 2 * y * n[2] / n[1], 2: 2 - 3 * y * n[3] / n[2]}.get(count, 3 - 4 * y * n[4] / n[3])

    has_all = all(Counter(kinds.values())[count] for count in range(1, 5))

    def taken(count: int) -> float:
        return discount(kinds, count) if has_all else {1: 0.5, 2: 1.0}.get(count, 1.5)

    size = len(kinds) + 1  # and the unknown word
    total = sum(kinds.values())
    rest = sum(taken(count) for count in kinds.values()) / total / size
    for (first, second), count in pairs.items():
        after = {pair: number for pair, number in pairs.items() if pair[0] == first}
        backoff = sum(discount(pairs, number) for number in after.values()) / sum(after.values())
        unigram = (kinds[second] - taken(kinds[second])) / total + rest
        expected = (count - discount(pairs, count)) / sum(after.values()) + backoff * unigram
        assert 10 ** model.log([first], second) == pytest.approx(expected, rel=1e-4)


@pytest.mark.usefixtures("_kenlm")
def test_sentences_of_a_domain_are_told_from_others(tmp_path: Path) -> None:
    inside, outside = text(3), [line.replace("w1", "v1") for line in text(4)]
    for name, lines in (("in", inside), ("out", outside)):
        estimate_ngrams(lines, 3, tmp_path / name)
    difference = CrossEntropyDifference(tmp_path / "in", tmp_path / "out")
    assert difference("w1 w1 w0") < -1 < 1 < difference("v1 v1 w0")
    assert difference("w1 w1 w0 w1 w1 w0") == pytest.approx(difference("w1 w1 w0"), abs=1)  # of each word


@pytest.mark.usefixtures("_kenlm")
def test_words_are_divided_at_the_same_spaces_as_in_the_models(tmp_path: Path) -> None:
    for name, lines in (("in", text(3)), ("out", text(4))):
        estimate_ngrams(lines, 3, tmp_path / name)
    difference = CrossEntropyDifference(tmp_path / "in", tmp_path / "out")
    assert difference("w1\u00a0w2\u2009w0\x1cw3") == difference("w1 w2 w0 w3")


def test_kenlm_is_asked_for_before_models_are_estimated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "text").write_text("a b\n")
    monkeypatch.setitem(sys.modules, "kenlm", None)
    models = (tmp_path / "in.arpa", tmp_path / "out.arpa")
    with pytest.raises(RecipeError, match="kenlm"):
        select_sentences(tmp_path / "text", 1, ["a b"], share=0.5, order=2, models=models)
    assert not any(path.exists() for path in models)


def test_no_text_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no word"):
        estimate_ngrams(["", "  "], 3, tmp_path / "model.arpa")


@pytest.mark.skipif(not HAS_KENLM, reason="needs the extra postedit[roundtrip]")
def test_no_model_is_named(tmp_path: Path) -> None:
    (tmp_path / "model.arpa").write_text("nothing")
    with pytest.raises(DataError, match=r"model\.arpa: no n-gram model"):
        CrossEntropyDifference(tmp_path / "model.arpa", tmp_path / "model.arpa")
