"""Do protected spans survive every system? Fuzzed segments against a system that mangles, and real lines of a model.

    python benchmarks/protected_spans.py fuzz [--segments 1000000] [--seed 1]
    python benchmarks/protected_spans.py real MODEL --src FILE --mt FILE [--pe FILE] [--lines N] [--rounds 3]

`fuzz` counts the outputs that break the rule, and those that fail an independent check: spans that source and mt share
are looked for as plain strings, numbers as digits. `real` counts the segments in which the model alone, and the model
with protection, breaks the rule, and prints TER and seconds, the median of interleaved rounds.
"""

import argparse
import random
import re
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from postedit.core.editor import Abilities, Detail, Edit, Editor, Identity, PostEdit, Segment
from postedit.core.search_config import SearchConfig
from postedit.editing.protection import Protected
from postedit.editing.span_rule import SpanRule
from postedit.text.protected_spans import KINDS

SPANS = {
    "number": [
        "5",
        "17",
        "-3",
        "1,000.5",
        "2.000",
        "3.14",
        "12.05.2019",
        "10-20",
        "2.0.1",
        "09:30",
        "75%",
        "4th",
        "٤٢",
    ],
    "url": ["https://example.com/a?b=c", "www.test.org/x", "ftp://files.net/pub/", "example.net"],
    "email": ["anna@mail.com", "b.c+d@site.co.uk"],
    "path": ["/usr/local/bin", "C:\\Temp\\log.txt", "notes.pdf", "~/work/plan", "src/app/main.py"],
    "placeholder": ["%s", "%1$d", "%(user)s", "{0}", "{name}", "{{ title }}", "${home}", "$path", "%NAME%", "[[link]]"],
    "markup": ["<b>bold</b>", '<a href="#top">up</a>', "<br/>", "&amp;", "&#160;"],
    "code": ["`ls -l`", "getValue", "max_size", "run()", "--verbose"],
    "hashtag": ["#launch", "#日本"],
    "mention": ["@anna_k", "@team"],
}
MESSAGE = "{count, plural, one {# file} other {# files}}"
WORDS = (
    "the",
    "red",
    "house",
    "and",
    "we",
    "see",
    "two",
    "trees",
    ",",
    "und",
    "das",
    "Haus",
    "steht",
    ".",
    "河",
    "дом",
)


def segments(rng: random.Random) -> Iterator[Segment]:
    """Yield segments whose source and mt share most of their spans; some of mt are wrong, missing or doubled."""
    while True:
        spans = [rng.choice(SPANS[rng.choice(KINDS)]) for _ in range(rng.randint(0, 5))]
        spans += [MESSAGE] if rng.random() < 0.05 else []
        theirs = [span for span in spans if rng.random() > 0.05]
        theirs += [rng.choice(SPANS[rng.choice(KINDS)]) for _ in range(rng.random() < 0.1)]
        theirs += [rng.choice(theirs)] if theirs and rng.random() < 0.05 else []
        yield Segment(_sentence(rng, spans), _sentence(rng, theirs))


def _sentence(rng: random.Random, spans: Sequence[str]) -> str:
    words = [rng.choice(WORDS) for _ in range(rng.randint(0, 12))]
    for span in spans:
        words.insert(rng.randint(0, len(words)), span + rng.choice(["", "", "", ",", "."]))
    return " ".join(words)


class Mangler(Editor):
    """Deletes, doubles, moves, changes and invents characters, words and spans at random."""

    abilities = Abilities()

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)

    def identity(self, search: SearchConfig | None = None) -> Identity:
        """Return a constant."""
        return Identity(("mangler",))

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        """Return mangled texts."""
        return [self._mangled(segment.mt or "") for segment in segments]

    def _mangled(self, mt: str) -> PostEdit:
        rng = self._rng
        places = [found.span() for found in re.finditer(r"\S+", mt)] if rng.random() < 0.5 else None
        cuts = sorted(rng.sample(range(len(mt) + 1), min(len(mt) + 1, 2 * rng.randint(1, 4))))
        ranges = [rng.choice(places)] if places else list(zip(cuts[::2], cuts[1::2], strict=False))
        parts, edits, done, length = [], [], 0, 0
        for start, end in ranges:
            new = self._other(mt, mt[start:end])
            length += start - done
            op = "insert" if start == end else "replace" if new else "delete"
            edits.append(Edit(op, (start, end), (length, length + len(new))))  # type: ignore[arg-type]
            parts += [mt[done:start], new]
            length, done = length + len(new), end
        text = "".join([*parts, mt[done:]])
        if rng.random() < 0.1:  # a system that reports no edits, or one
            edits = [] if rng.random() < 0.5 else [Edit("replace", (0, len(mt)), (0, len(text)))]
        nothing = ((0, 0),) * len(edits)
        return PostEdit(text, text != mt, edits=tuple(edits), token_spans=nothing, confidences=(0.5,) * len(edits))

    def _other(self, mt: str, old: str) -> str:
        rng = self._rng
        choice = rng.randint(0, 7)
        if choice == 0:
            return ""
        if choice == 1:
            return f"{old} {old}"
        if choice == 2:
            return rng.choice(SPANS[rng.choice(KINDS)])
        if choice == 3:
            return re.sub(r"\d", lambda digit: str(rng.randint(0, 9)), old)
        if choice == 4:
            return old.swapcase()
        if choice == 5:
            return "".join(rng.sample(old, len(old)))
        if choice == 6:
            place = rng.randint(0, len(old))
            return old[:place] + rng.choice(" .,-<>{}%$#@/\\_`5aZ") + old[place:]
        words = mt.split()
        return " ".join(rng.sample(words, len(words)))


def corrupted(segment: Segment, text: str) -> bool:
    """Return whether an output breaks the rule, or fails the independent check."""
    mt = segment.mt or ""
    return bool(SpanRule(segment.src, mt, frozenset(KINDS), None).broken(text)) or _differs(segment.src, mt, text)


def _differs(src: str, mt: str, text: str) -> bool:
    for span, pattern in _LOOKED_FOR.items():
        there, before, now = (len(pattern.findall(one)) for one in (src, mt, text))
        if there == before != now and _alone(span, src, mt):
            return True
    there, before, now = (_digits(one) for one in (src, mt, text))
    return any(there[number] == before[number] != now[number] for number in before)


_WORD = r"[A-Za-z0-9_\u00c0-\u0dff]"


def _as_string(span: str) -> re.Pattern[str]:
    """Return a pattern that looks for a span without knowing how spans are found."""
    if span[0] in "<&%{[`" or span[:2] == "${":  # counts within words, too
        return re.compile((r"(?<!\d)" if span[0] == "%" else "") + re.escape(span))
    before = "(?<!/)" if span[0] == "/" else ""
    return re.compile(rf"{before}(?<!{_WORD}){re.escape(span)}(?!{_WORD})")


_LOOKED_FOR = {
    part: _as_string(part)
    for kind, spans in SPANS.items()
    for span in spans
    for part in re.findall("<[^<>]+>", span) or [span]
    if kind != "number"
}


def _alone(span: str, *texts: str) -> bool:
    """Return whether a span, other than a tag, is nowhere next to characters that may make it part of another one."""
    parts = rf"[^\s]{re.escape(span)}|{re.escape(span)}[^\s,.]"
    return span.startswith("<") or not any(re.search(parts, text) for text in texts)


def _digits(text: str) -> Counter[str]:
    text = re.sub("|".join(re.escape(span) for span in _LOOKED_FOR), " ", text)
    text = re.sub(r"(\d\d)\.(\d\d)\.(\d{4})", r"\1 \2 \3", text)  # a date is three numbers
    return Counter(
        "".join(str(int(one)) for one in found if one.isdecimal())
        for found in re.findall(r"\d+(?:[., ]\d{3}(?!\d)|[.,]\d+)*", text)
    )


def fuzz(count: int, seed: int, batch: int = 1000) -> tuple[int, int, int, int]:
    """Return how many outputs are corrupted behind protection and without it, how many changed, and are taken back."""
    source, mangler = segments(random.Random(seed)), Mangler(seed)
    protected = Protected(mangler)
    behind = without = changed = taken = 0
    for start in range(0, count, batch):
        part = list(islice(source, min(batch, count - start)))
        state = mangler._rng.getstate()
        plain = mangler.edit_segments(part)
        mangler._rng.setstate(state)
        kept = protected.edit_segments(part)
        without += sum(corrupted(*one) for one in zip(part, (one.text for one in plain), strict=True))
        behind += sum(corrupted(*one) for one in zip(part, (one.text for one in kept), strict=True))
        changed += sum(one.changed for one in kept)
        taken += sum(bool(one.fallbacks) for one in kept)
    return behind, without, changed, taken


def real(arguments: argparse.Namespace) -> None:
    """Print broken spans, TER and seconds of a model with and without protection."""
    from postedit import PostEditor
    from postedit.evaluate.scores import score_systems

    src, mt = (read(path, arguments.lines) for path in (arguments.src, arguments.mt))
    alone: Editor = PostEditor.load(*([arguments.model] if arguments.model else []))
    editors = {"alone": alone, "protected": Protected(alone)}
    seconds: dict[str, list[float]] = {name: [] for name in editors}
    outputs: dict[str, list[PostEdit]] = {}
    alone.edit(src[:50], mt[:50])
    for number in range(arguments.rounds):
        for name in editors if number % 2 == 0 else reversed(editors):
            start = time.perf_counter()
            outputs[name] = editors[name].edit(src, mt)
            seconds[name].append(time.perf_counter() - start)
    rules = [SpanRule(*pair, frozenset(KINDS), None) for pair in zip(src, mt, strict=True)]
    for name, results in outputs.items():
        broken = sum(bool(rule.broken(one.text)) for rule, one in zip(rules, results, strict=True))
        saved = Counter(fallback.by for one in results for fallback in one.fallbacks)
        print(
            f"{name}: {len(src):,} lines, {sum(one.changed for one in results):,} changed, {broken:,} corrupted, "
            f"{statistics.median(seconds[name]):.2f} s; saved: {dict(saved)}"
        )
    if arguments.pe:
        pe = read(arguments.pe, arguments.lines)
        systems = {name: [one.text for one in results] for name, results in outputs.items()}
        for row in score_systems(systems, pe, mt, "none"):
            print(f"{row.name}: TER {row.ter:.2f}, BLEU {row.bleu:.2f}")
    first = outputs["alone"]
    for row, result in enumerate(outputs["protected"]):
        if result.fallbacks and arguments.show > 0:
            arguments.show -= 1
            values = ", ".join(f"{one.kind} {one.value} ({one.by})" for one in result.fallbacks)
            print(f"\n{values}\nsrc   {src[row]}\nmt    {mt[row]}\nalone {first[row].text}\nkept  {result.text}")


def read(path: Path, count: int | None) -> list[str]:
    with path.open(encoding="utf-8", newline="\n") as lines:
        return [line.removesuffix("\n") for line in islice(lines, count)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    fuzzing = commands.add_parser("fuzz")
    fuzzing.add_argument("--segments", type=int, default=1_000_000)
    fuzzing.add_argument("--seed", type=int, default=1)
    lines = commands.add_parser("real")
    lines.add_argument("model", nargs="?", help="the model that comes with postedit if not given")
    for side in ("src", "mt"):
        lines.add_argument(f"--{side}", type=Path, required=True)
    lines.add_argument("--pe", type=Path)
    lines.add_argument("--lines", type=int)
    lines.add_argument("--rounds", type=int, default=3)
    lines.add_argument("--show", type=int, default=0, help="segments with fallbacks to print")
    arguments = parser.parse_args()
    if arguments.command == "real":
        real(arguments)
        return
    start = time.perf_counter()
    behind, without, changed, taken = fuzz(arguments.segments, arguments.seed)
    print(
        f"{arguments.segments:,} segments: {without:,} corrupted without protection, {behind:,} with it; {taken:,} had "
        f"fallbacks, {changed:,} changed all the same; {time.perf_counter() - start:,.0f} s"
    )


if __name__ == "__main__":
    main()
