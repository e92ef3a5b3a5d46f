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
