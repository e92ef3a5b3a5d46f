"""Do the checks on the answers of a language model catch faulty answers and let good corrections pass?

    python benchmarks/answer_checks.py DATA [--part train|dev] [--lines 600]

No language model is needed: human post-edits stand in for its good corrections, and faulty answers are made from them.
The first table gives the percentage of good corrections of changed segments that the checks refuse: first one segment
per request, then eight, where the whole request is repeated if the texts of two segments seem mixed up. The second
table gives the percentage of faulty answers that pass, among those in which the fault shows; "another's" answers with
the correction of another segment, and "exchanged" swaps the corrections of two segments in a request.
The thresholds of the checks were chosen on `--part train`; the results reported are those on `dev`.
"""

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from postedit.data.triplets import Triplet, TripletFiles, read_triplets
from postedit.llm.checks import fault_of
from postedit.llm.prompts import Question


class Chat(NamedTuple):
    """What a language model may write around a correction, in the target language."""

    introduction: str
    title: str
    note: str


SETS = {
    "adobe-pe.en-de": "de", "adobe-pe.en-fr": "fr", "adobe-pe.en-es": "es", "adobe-pe.en-ja": "ja",
    "wmt18-smt.en-de": "de", "wmt18-nmt.en-de": "de", "wmt19-nmt.en-ru": "ru", "wmt18-nmt.en-lv": "lv",
    "mlqe-pe/en-zh": "zh", "mlqe-pe/ro-en": "en", "mlqe-pe/et-en": "en", "mlqe-pe/ne-en": "en", "mlqe-pe/si-en": "en",
}  # fmt: skip
CHATS = {
    "de": Chat("Hier ist die korrigierte Übersetzung: ", "Korrektur: ", " (Anmerkung: Rechtschreibung korrigiert)"),
    "fr": Chat("Voici la traduction corrigée : ", "Correction : ", " (Note : orthographe corrigée)"),
    "es": Chat("Aquí está la traducción corregida: ", "Corrección: ", " (Nota: ortografía corregida)"),
    "ja": Chat("修正後の翻訳：", "修正：", "（注：表記を修正）"),
    "ru": Chat("Вот исправленный перевод: ", "Исправление: ", " (Примечание: исправлена орфография)"),
    "lv": Chat("Šeit ir labotais tulkojums: ", "Labojums: ", " (Piezīme: labota pareizrakstība)"),
    "zh": Chat("更正后的译文：", "更正：", "（注：已更正标点）"),
    "en": Chat("Here is the corrected translation: ", "Correction: ", " (Note: spelling corrected)"),
}
LONG = 40  # fewest characters of a correction from which a cut-off answer is made
TOGETHER = 8  # segments per request


def faulty_answers(chat: Chat) -> dict[str, Callable[[str], str | None]]:
    """Return, by name, functions that make a correction faulty; they return None where the fault would not show."""

    def cut(share: float, end: str | None) -> Callable[[str], str | None]:
        def make(text: str) -> str | None:
            if len(text) < LONG or text[-1].isalnum():
                return None
            return text[: int(share * len(text))].rsplit(" ", 1)[0] + (text[-1] if end is None else end)

        return make

    return {
        "introduction": lambda text: chat.introduction + text,
        "title": lambda text: chat.title + text,
        "note": lambda text: text + chat.note,
        "bold": lambda text: f"**{text}**",
        "id": lambda text: f"3fa2c1: {text}",
        "60 %": cut(0.6, ""),
        "60 %, mark": cut(0.6, None),
        "60 %, ...": cut(0.6, " ..."),
        "40 %, mark": cut(0.4, None),
    }


ANOTHER = 7  # distance, in changed segments, to the one whose correction is taken instead


def changed_triplets(data: Path, name: str, part: str, count: int) -> list[Triplet]:
    """Return the changed triplets among the first `count` of a set."""
    files = TripletFiles.of(data / name / part)
    return [one for one in islice(read_triplets(files), count) if one.pe.strip() and one.mt.strip() != one.pe.strip()]


def faults_in_requests(questions: Sequence[Question], answers: Sequence[str], target: str) -> int:
    """Return how many segments would be asked about again if each request had `TOGETHER` segments."""
    again = 0
    everything = list(zip(questions, answers, strict=True))
    for start in range(0, len(everything), TOGETHER):
        pairs = everything[start : start + TOGETHER]
        faults = [
            fault_of(question, text, [other for other in pairs if other[0] is not question], target)
            for question, text in pairs
        ]
        mixed = any(fault in ("merged", "misplaced") for fault in faults)
        again += len(pairs) if mixed else sum(fault is not None for fault in faults)
    return again


def exchanged(questions: Sequence[Question], answers: Sequence[str], target: str) -> tuple[int, int]:
    """Swap the corrections of neighbouring segments; return how many pass, and how many there are."""
    passed = 0
    pairs = range(0, len(answers) - 1, 2)
    for row in pairs:
        pair = [(questions[row], answers[row + 1]), (questions[row + 1], answers[row])]
        faults = [fault_of(*one, [other], target) for one, other in zip(pair, reversed(pair), strict=True)]
        if not any(fault in ("merged", "misplaced") for fault in faults):
            passed += faults.count(None)
    return passed, 2 * len(pairs)


def rows(data: Path, part: str, lines: int) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield the name of each set, and the cells of its rows in the first and second table."""
    for name, target in SETS.items():
        found = changed_triplets(data, name, part, lines)
        questions = [Question(one.src, one.mt) for one in found]
        answers = [one.pe.strip() for one in found]
        alone = Counter(fault_of(one, text, (), target) for one, text in zip(questions, answers, strict=True))
        del alone[None]
        kinds = ", ".join(f"{kind} {count}" for kind, count in alone.most_common())
        again = faults_in_requests(questions, answers, target)
        count = len(found)
        good = [f"{count}", f"{100 * alone.total() / count:.1f}", kinds or "-", f"{100 * again / count:.1f}"]
        faulty = []
        for make in faulty_answers(CHATS[target]).values():
            made = [(one, text) for one, answer in zip(questions, answers, strict=True) if (text := make(answer))]
            passed = sum(fault_of(one, text, (), target) is None for one, text in made)
            faulty.append(f"{100 * passed / max(1, len(made)):.0f}")
        others = [fault_of(one, text, (), target) for one, text in zip(questions, answers[ANOTHER:])]
        faulty.append(f"{100 * others.count(None) / max(1, len(others)):.0f}")
        passed, count = exchanged(questions, answers, target)
        faulty.append(f"{100 * passed / max(1, count):.1f}")
        yield name, good, faulty


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--part", choices=("train", "dev"), default="dev")
    parser.add_argument("--lines", type=int, default=600, help="number of lines to read from each set, changed or not")
    options = parser.parse_args()
    goods, faults = [], []
    for name, good, faulty in rows(options.data, options.part, options.lines):
        goods.append(f"| {name} | {' | '.join(good)} |")
        faults.append(f"| {name} | {' | '.join(faulty)} |")
    print("| set | changed | good corrections refused, % | as | asked about again in requests of 8, % |")
    print("|---|---:|---:|---|---:|", *goods, sep="\n", end="\n\n")
    names = [*faulty_answers(CHATS["en"]), "another's", "exchanged"]
    print(f"| faulty answers that pass, % | {' | '.join(names)} |\n|---|{'---:|' * len(names)}", *faults, sep="\n")


if __name__ == "__main__":
    main()
