from postedit.phrase.word_ids import BEGIN, END_OF_TEXT, TextsBuilder, WordIds


def test_words_get_the_same_ids_whenever_they_are_seen() -> None:
    words = WordIds(["a"])
    assert words.add(["a", "b", "a"]) == [3, 4, 3]
    assert words.find(["b", "c", "a"]) == [4, 0, 3]
    assert words.own == ["a", "b"]
    assert len(words) == 5
    assert WordIds(words.own).find(["b"]) == [4]


def test_reserved_words_are_not_found_in_a_text() -> None:
    assert WordIds(["a"]).find(["", "<s>"]) == [0, 0]


def test_bounded_texts_have_words_for_beginning_and_end() -> None:
    for bounded, expected in ((True, [BEGIN, 3, 4, END_OF_TEXT, BEGIN, END_OF_TEXT]), (False, [3, 4])):
        builder = TextsBuilder(bounded=bounded)
        builder.append([3, 4])
        builder.append([])
        texts = builder.texts()
        assert texts.words.tolist() == expected
        assert texts.starts.tolist() == ([0, 4, 6] if bounded else [0, 2, 2])
