from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postedit.core.evidence import Alternative, Evidence, special_words
from postedit.core.types import AttentionKey

SRC, MT = AttentionKey("src", "soft"), AttentionKey("mt", "copy")


def evidence() -> Evidence:
    return Evidence(
        streams={"src": ("▁un", "do", "▁it", "</s>"), "mt": ("▁mach", "▁es", "</s>")},
        output=("▁rück", "gängig", "</s>"),
        log_probs=(-0.5, -0.25, -1.0),
        attention={
            SRC: np.array([[0.4, 0.4, 0.1, 0.1], [0.2, 0.2, 0.5, 0.1], [0.0, 0.0, 0.0, 1.0]]),
            MT: np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
        },
    )


def test_words_sum_their_input_pieces_and_average_their_output_pieces() -> None:
    words = evidence().to_words({"src": [0, 0, 1, 2], "mt": [0, 1, 2]}, [0, 0, 1])
    assert words.streams == {"src": ("undo", "it", "</s>"), "mt": ("mach", "es", "</s>")}
    assert words.output == ("rückgängig", "</s>")
    assert words.log_probs == pytest.approx((-0.75, -1.0))
    np.testing.assert_allclose(words.attention[SRC], [[0.6, 0.3, 0.1], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(words.attention[MT], [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])


def test_attention_over_several_streams_is_divided_among_them() -> None:
    both = AttentionKey("src+mt", "soft")
    one = evidence()
    joint = Evidence(one.streams, one.output, one.log_probs, {both: np.full((3, 7), 1 / 7)})
    parts = joint.by_stream(both)
    assert {name: weights.shape for name, weights in parts.items()} == {"src": (3, 4), "mt": (3, 3)}
    words = joint.to_words({"src": [0, 0, 1, 2], "mt": [0, 1, 2]}, [0, 0, 1])
    np.testing.assert_allclose(words.by_stream(both)["src"], np.array([[2, 1, 1]] * 2) / 7)
    np.testing.assert_allclose(words.attention[both].sum(1), 1.0)


def _index(sizes: list[int]) -> list[int]:
    return [word for word, size in enumerate(sizes) for _ in range(size)]


sizes = st.lists(st.integers(1, 3), min_size=1, max_size=5)


@given(sizes, sizes, st.integers(0, 2**32 - 1))
def test_rows_still_sum_to_one(inputs: list[int], outputs: list[int], seed: int) -> None:
    generator = np.random.default_rng(seed)
    weights = generator.dirichlet(np.ones(sum(inputs)), size=sum(outputs))
    pieces = Evidence({"src": ("x",) * sum(inputs)}, ("y",) * sum(outputs), (0.0,) * sum(outputs), {SRC: weights})
    words = pieces.to_words({"src": _index(inputs)}, _index(outputs))
    assert words.attention[SRC].shape == (len(outputs), len(inputs))
    np.testing.assert_allclose(words.attention[SRC].sum(1), 1.0)


def test_evidence_with_equal_arrays_is_equal() -> None:
    one = replace(evidence(), losses=np.array([[0.5], [0.0], [1.0]]))
    same = replace(evidence(), losses=np.array([[0.5], [0.0], [1.0]]))
    assert one == same
    assert hash(one) == hash(same)
    assert one != evidence()
    assert one != replace(one, losses=np.array([[0.5], [0.0], [2.0]]))
    assert one != replace(one, attention={SRC: one.attention[SRC]})
    assert one != "evidence"


def test_half_precision_attention_is_accepted() -> None:
    weights = np.full((1, 300), 1 / 300, dtype=np.float16)
    Evidence({"src": ("x",) * 300}, ("y",), (0.0,), {SRC: weights})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"log_probs": (0.0,)}, "3 output tokens with 1 log-prob"),
        ({"streams": {"src": ("a",)}}, "attention over mt|has the shape"),
        ({"attention": {SRC: np.ones((3, 4))}}, "do not sum to 1"),
        ({"attention": {SRC: np.ones((2, 4))}}, "has the shape"),
        ({"runners_up": ((),)}, "3 output tokens"),
        ({"shares": {"mt": np.ones(2)}}, "shape"),
        ({"without": {"src": (0.0,)}}, "3 output tokens"),
    ],
)
def test_evidence_of_inconsistent_shapes_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(evidence(), **changes)


def test_a_symbol_is_a_word_by_itself() -> None:
    expected = evidence().to_words({"src": [0, 0, 1, 2], "mt": [0, 1, 2]}, [0, 0, 1])
    for words in (evidence().to_words({"src": [0, 0, 1, -1], "mt": [0, 1, -1]}, [0, 0, -1]), evidence().by_word()):
        assert words.streams == expected.streams
        assert words.output == expected.output
        np.testing.assert_array_equal(words.attention[SRC], expected.attention[SRC])


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        ("▁この設定 を 保存 します 。 ▁[ OK ] </s>", "この設定 を 保存 します 。 [OK] </s>"),
        ("▁ この設定 を 保存 </s>", "この設定 を 保存 </s>"),
        ("▁設定を保 \ufffd \ufffd する ▁o \ufffd \ufffd k", "設定を保 \ufffd\ufffd する o\ufffd\ufffdk"),
        ("▁設定を保存 に\ufffd \ufffd した", "設定を保存 に\ufffd\ufffd した"),
        ("▁設定 <step> を保 <step> 存 </s>", "設定 <step> を保 <step> 存 </s>"),
        ("▁設定を保存 \ufffd <step> \ufffd", "設定を保存 \ufffd\ufffd <step>"),
        ("▁設 <step> 定 <step> ▁を", "設定 <step> <step> を"),  # divided into words
        ("▁設定を保存 ▁ <unk> する ▁ ▁<unk-1> k", "設定を保存 ▁ <unk> する <unk-1>k"),
        ("▁重 要 ▁的 ▁文 件 </s>", "重要 的 文件 </s>"),  # divided into words
        ("設定を 保存し ます", "設定を 保存し ます"),
    ],
)
def test_tokens_of_running_text_without_spaces_are_words(tokens: str, words: str) -> None:
    given = tuple(tokens.split(" "))
    found = Evidence({"mt": given}, given, (-1.0,) * len(given), {}).by_word()
    assert found.output == found.streams["mt"] == tuple(words.split(" "))
    assert sum(found.log_probs) == -len(given)
    special = [token for token in words.split(" ") if token in ("</s>", "<step>", "<unk>", "▁")]
    assert [found.output[place] for place in sorted(special_words(given))] == special


def test_two_symbols_are_two_words() -> None:
    pieces = Evidence({}, ("<step>", "<step>", "▁a", "</s>"), (0.0,) * 4, {})
    assert pieces.to_words({}, [-1, -1, 0, -1]).output == ("<step>", "<step>", "a", "</s>")


def test_a_word_index_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="word index of src has 3 numbers for 4"):
        evidence().to_words({"src": [0, 0, 1], "mt": [0, 1, 2]}, [0, 0, 1])


def test_words_have_the_runners_up_of_their_least_probable_piece() -> None:
    others = ((Alternative("▁zurück", -1.0),), (Alternative("gehend", -2.0),), (Alternative("▁.", -3.0),))
    words = replace(evidence(), runners_up=others).by_word()
    assert [[one.text for one in found] for found in words.runners_up] == [["zurück…"], ["."]]
    words = replace(evidence(), log_probs=(-0.1, -2.0, -1.0), runners_up=others).by_word()
    assert words.runners_up[0] == (Alternative("rückgehend", -2.0),)


def test_shares_are_averaged_and_scores_added_up_over_pieces() -> None:
    given_shares = {"generated": np.array([0.2, 0.4, 1.0]), "mt": np.array([0.8, 0.6, 0.0])}
    without = {"src": (-1.0, -2.0, -3.0)}
    words = replace(evidence(), shares=given_shares, without=without, losses=np.ones((3, 2))).by_word()
    np.testing.assert_allclose(words.shares["mt"], [0.7, 0.0])
    assert words.without["src"] == (-3.0, -3.0)
    np.testing.assert_allclose(words.losses, [[2, 2], [1, 1]])


def test_attention_over_one_stream_sums_to_one() -> None:
    both = AttentionKey("src+mt", "soft")
    one = evidence()
    weights = np.array([[0.1, 0.1, 0.1, 0.1, 0.2, 0.2, 0.2], [0, 0, 0, 0, 1, 0, 0], [1, 0, 0, 0, 0, 0, 0]])
    joint = Evidence(one.streams, one.output, one.log_probs, {both: weights})
    over = joint.over("src")
    assert over is not None
    np.testing.assert_allclose(over, [[0.25] * 4, [0.25] * 4, [1, 0, 0, 0]])
    assert one.over("draft") is None
