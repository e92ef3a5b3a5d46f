"""Similar corrections are found in every script, however many there are."""

from postedit.text.hint_texts import Example
from postedit.text.similarity_index import SimilarityIndex


def index_of(*corrections: Example) -> SimilarityIndex:
    index = SimilarityIndex()
    for number, one in enumerate(corrections):
        index.add(number, one)
    return index


def test_characters_of_unspaced_scripts_are_words() -> None:
    known = Example("ファイルを開きます。", "打开文件。", "请打开文件。")
    other = Example("東京", "东京", "东京市")
    assert index_of(known, other).find("ファイルを閉じます。", "关闭文件。", 1, 0.6) == [known]


def test_corrections_of_which_there_are_many_are_found() -> None:
    many = [Example("Click OK.", "Klicke OK.", f"Klicken Sie auf OK. {number}") for number in range(2001)]
    index = index_of(*many)
    assert index.find("Click OK.", "Klicke OK.", 2, 0.9) == [many[2000], many[1999]]
    assert index.find("Click OK", "Klicke OK.", 1, 0.5) == [many[2000]]
    index.remove(2000)
    assert index.find("Click OK.", "Klicke OK.", 1, 0.9) == [many[1999]]
    index.clear()
    assert vars(index) == vars(SimilarityIndex())


def test_the_same_correction_is_found_among_many_with_its_rare_words() -> None:
    same = Example("a b x", "c d", "e")
    others = [Example(f"{word} x", "c d", "e") for word in "ab" for _ in range(1500)]
    common = [Example("a b", "c d", "f")] * 600
    index = index_of(same, *others, *common)
    assert index.find("a b x", "c d", 1, 1.0) == [same]
