"""Ten triplets, and files of them."""

from pathlib import Path

from postedit.phrase.phrase_model import SplitTriplet

TRIPLETS = [
    ("the red house is big .", "das rote Haus ist groß ,", "das rote Haus ist groß ."),
    ("the blue house is small .", "das blaue Haus ist klein ,", "das blaue Haus ist klein ."),
    ("the house is old .", "der Haus ist alt ,", "das Haus ist alt ."),
    ("the house burns .", "der Haus brennt ,", "das Haus brennt ."),
    ("a tree , a house .", "ein Baum , ein Haus .", "ein Baum , ein Haus ."),
    ("the tree is green .", "der Baum ist grün ,", "der Baum ist grün ."),
    ("the tree falls .", "der Baum fällt ,", "der Baum fällt um ."),
    ("press the key .", "drücken Sie die Taste ,", "drücken Sie die Taste ."),
    ("press the red key .", "drücken Sie die rote Taste ,", "drücken Sie die rote Taste ."),
    ("the house is red .", "der Haus ist rot ,", "das Haus ist rot ."),
]


def split(triplets: list[tuple[str, str, str]]) -> list[SplitTriplet]:
    return [SplitTriplet(*(text.split() for text in triplet)) for triplet in triplets]


def write_files(folder: Path) -> None:
    for name, times in (("train", 3), ("dev", 1)):
        for number, side in enumerate(("src", "mt", "pe")):
            lines = [triplet[number] for triplet in TRIPLETS * times]
            (folder / f"{name}.{side}").write_text("".join(f"{line}\n" for line in lines))


def write_recipe(folder: Path) -> Path:
    write_files(folder)
    recipe = folder / "phrases.toml"
    recipe.write_text('[model]\nname = "phrase-based"\norder = 3\n[data]\ntrain = "train"\ndev = "dev"\n')
    return recipe
