"""Signs of mixed up columns, on triplets of an example that are mixed up on purpose."""

from pathlib import Path

import pytest

from postedit.evaluate.column_signs import column_signs

EXAMPLE = Path(__file__).parents[3] / "examples/mlqe-pe.en-zh"
SRC, MT, PE = ((EXAMPLE / f"test.{side}").read_text(encoding="utf-8").splitlines()[:60] for side in ("src", "mt", "pe"))
GERMAN = ["Die Katze schläft heute auf dem warmen Dach des alten Hauses ."] * 5
RUSSIAN = ["Кошка спит сегодня на тёплой крыше старого дома ."] * 5


@pytest.mark.parametrize(
    ("columns", "sign"),
    [
        (
            (PE, MT, SRC),
            "src and mt read as one language (zh), and pe as another (en): check whether src and pe are swap",
        ),
        (
            (MT, SRC, PE),
            "src and pe read as one language (zh), and mt as another (en): check whether src and mt are swap",
        ),
        ((SRC, SRC, SRC), "src, mt and pe read as one language (en)"),
        ((SRC, GERMAN, RUSSIAN), "mt and pe are in different scripts (Latin, Cyrillic)"),
        ((SRC, GERMAN, [f"{line} Word" for line in RUSSIAN]), "mt and pe are in different scripts (Latin, Cyrillic)"),
        (
            (SRC, ["ねこは屋根でねています。"] * 5, GERMAN),
            "mt and pe are in different scripts (Chinese and Japanese, Latin)",
        ),
    ],
)
def test_mixed_up_columns_are_seen(columns: tuple[list[str], list[str], list[str]], sign: str) -> None:
    (found,) = column_signs(*columns, ter=20.0)
    assert found.startswith(sign)
    others = column_signs(*columns, ter=110.0)[1:]  # where languages differ, they are the cause of TER
    assert ["TER of 110" in one for one in others] == [True] * sign.startswith("src, mt and pe")


def test_mt_that_pe_does_not_correct_is_seen() -> None:
    (found,) = column_signs(SRC, MT, PE, ter=110.2)
    assert "TER of 110" in found
    assert not column_signs(SRC, MT, PE, ter=69.0)


@pytest.mark.parametrize(
    "columns",
    [
        (SRC, MT, PE),
        (SRC, GERMAN, GERMAN),
        ([f"w{n}" for n in range(9)], ["1 2"] * 9, ["?"] * 9),  # no language, and no letters
        (SRC, ["これは日本のカタログです。"] * 9, ["日本語版"] * 9),  # kana and Chinese characters
        (SRC, ["Word 日本"] * 9, ["Words 日本語版"] * 9),  # names in another script
    ],
)
def test_columns_in_order_give_no_sign(columns: tuple[list[str], list[str], list[str]]) -> None:
    assert not column_signs(*columns, ter=30.0)
