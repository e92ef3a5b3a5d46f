from postedit.phrase.word_ids import BEGIN, END_OF_TEXT, TextsBuilder, WordIds


def test_words_get_the_same_ids_whenever_they_are_seen() -> None:
    words = WordIds(["a"])
    assert words.add(["a", "b", "a"]) == [3, 4, 3]
    assert words.find(["b", "a"], {}) == [4, 3]
    assert words.own == ["a", "b"]
    assert len(words) == 5
    assert WordIds(words.own).find(["b"], {}) == [4]


def test_reserved_words_are_not_found_in_a_text() -> None:
    assert min(WordIds(["a"]).find(["", "<s>"], {})) > 3


def test_unknown_words_differ_from_each_other_and_from_all_known_ones() -> None:
    others: dict[str, int] = {}
    first, second = WordIds(["a"]).find(["x", "y", "x"], others), WordIds(["a"]).find(["y", "z", "a"], others)
    assert first == [4, 5, 4]
    assert second == [5, 6, 3]


def test_bounded_texts_have_words_for_beginning_and_end() -> None:
    for bounded, expected in ((True, [BEGIN, 3, 4, END_OF_TEXT, BEGIN, END_OF_TEXT]), (False, [3, 4])):
        builder = TextsBuilder(bounded=bounded)
        builder.append([3, 4])
        builder.append([])
        texts = builder.texts()
        assert texts.words.tolist() == expected
        assert texts.starts.tolist() == ([0, 4, 6] if bounded else [0, 2, 2])
