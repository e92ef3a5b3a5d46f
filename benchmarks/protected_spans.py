"""Do protected spans survive every system? Test a system that mangles generated segments, and a model on real lines.

    python benchmarks/protected_spans.py fuzz [--segments 1000000] [--seed 1] [--workers 1]
    python benchmarks/protected_spans.py real MODEL --src FILE --mt FILE [--pe FILE] [--lines N] [--rounds 3]
    python benchmarks/protected_spans.py people FOLDER...
    python benchmarks/protected_spans.py terms [--entries 50000]

`fuzz` counts the outputs that break the span rule or fail an independent check, which searches for the spans that
source and mt share as plain strings, and for numbers as digits. `real` counts the segments in which the model breaks
the rule or fails such a check, with and without protection, and prints TER and CPU seconds (median of interleaved
rounds). `people` counts the post-edits by people that break the rule. `terms` times a glossary of invented terms.
"""

import argparse
import random
import re
import resource
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from itertools import islice, repeat
from pathlib import Path

from postedit.core.editor import Abilities, Detail, Edit, Editor, EditorWrapper, Identity, PostEdit, Segment
from postedit.core.search_config import SearchConfig
from postedit.editing.protection import Protected
from postedit.editing.span_rule import SpanRule
from postedit.text.glossary import Glossary, GlossaryEntry
from postedit.text.span_patterns import KINDS

SPANS: dict[str, list[str | tuple[str, str]]] = {  # pairs: the forms in source and in mt
    "number": [
        *("5", "17", "-3", "1,000.5", "2.000", "3.14", "12.05.2019", "10-20", "2.0.1", "09:30", "4th", "٤٢", "１２３"),
        *("+49 30 1234", "5 x 3", "1920×1080", "½", "m²", ("May 12, 2019", "12. Mai 2019"), ("2,500", "2.500")),
        *("10:45", "1/2", "3/4", "14.06.2020", "X1", "0x1F", "1e-5", ".5"),
    ],
    "unit": ["75%", "50 %", "€ 5", "$9", "16 GB", "30 °C", ("€7", "7 €"), "8 EUR", "64 MB", "9 EUR"],
    "url": [
        "https://example.com/a?b=c",
        "www.test.org/x",
        "ftp://files.net/pub/",
        "example.net",
        "help.example.de",
        "WWW.Test.COM/y",
    ],
    "email": ["anna@mail.com", "b.c+d@site.co.uk"],
    "path": [
        *("/usr/local/bin", "C:\\Temp\\log.txt", "notes.pdf", "~/work/plan", "src/app/main.py"),
        *("C:/Users/anna/a", "old.zip.bak", "C:\\Program Files\\App\\run.exe", "\\\\server\\share\\x"),
    ],
    "placeholder": [
        *("%s", "%1$d", "%(user)s", "{0}", "{name}", "{{ title }}", "${home}", "$path", "%NAME%", "[[link]]", ":count"),
        *("\\n", "{{{raw}}}", "<%= a.b %>", "@@N@@", "%d", "{}", "%{n}", "{% if x %}"),
    ],
    "markup": [
        "<b>bold</b>",
        '<a href="#top">up</a>',
        "<br/>",
        "&amp;",
        "&#160;",
        "&lt;i&gt;x&lt;/i&gt;",
        "**so**",
        "<?php x ?>",
    ],
    "code": ["`ls -l`", "getValue", "max_size", "run()", "--verbose", "XmlReader", "a.load()"],
    "hashtag": ["#launch", "#日本"],
    "mention": ["@anna_k", "@team"],
    "term": [("tree", "Baum"), ("trees", "Bäume"), ("control panel", "Systemsteuerung"), ("Trees", "Baum")],
}
MESSAGES = (
    "{count, plural, one {# file} other {# files}}",
    "{who, select, female {her} male {his} other {their}}",
    "{n, plural, =0 {none} other {{g, select, a {his #} other {their #}}}}",
)
GLOSSARY = Glossary(
    [
        GlossaryEntry("tree", ("Baum",), ("Strauch",), source_forms=("trees",), target_forms=("Bäume",)),
        GlossaryEntry("control panel", ("Systemsteuerung",)),
    ]
)
WORDS = (
    "the",
    "red",
    "house",
    "and",
    "we",
    "see",
    "two",
    ",",
    "und",
    "das",
    "Haus",
    "steht",
    ".",
    "Strauch",
    "河",
    "дом",
)
LINES_AT_A_TIME = 500
GLUE = ("-", "@", "/", "x", "see", "_", ".", "#", "$", "é", "ạ", "\u200b")
ALIKE = str.maketrans("aceopxAEHOT0", "асеорхАЕНОТO")


def segments(rng: random.Random) -> Iterator[Segment]:
    """Yield segments whose source and mt share most spans; some in mt are wrong, missing, doubled or glued to text."""
    while True:
        spans = [_span(rng) for _ in range(rng.randint(0, 5))]
        spans += [(message, message) for message in MESSAGES if rng.random() < 0.02]
        spans += [rng.choice(spans)] if spans and rng.random() < 0.1 else []
        if spans and rng.random() < 0.1:  # the same text glued to both
            before, after = rng.choice(["", *GLUE]), rng.choice(["", *GLUE])
            spans += [(before + src + after, before + mt + after) for src, mt in [rng.choice(spans)]]
        theirs = [mt for _, mt in spans if rng.random() > 0.05]
        theirs += [_span(rng)[1] for _ in range(rng.random() < 0.1)]
        theirs += [rng.choice(theirs)] if theirs and rng.random() < 0.05 else []
        yield Segment(_sentence(rng, [src for src, _ in spans]), _sentence(rng, theirs))


def _span(rng: random.Random) -> tuple[str, str]:
    found = rng.choice(SPANS[rng.choice(tuple(SPANS))])
    return (found, found) if isinstance(found, str) else found


def _sentence(rng: random.Random, spans: Sequence[str]) -> str:
    words = [rng.choice(WORDS) for _ in range(rng.randint(0, 12))]
    for span in spans:
        words.insert(rng.randint(0, len(words)), span + rng.choice(["", "", "", ",", "."]))
    return " ".join(words)


class Mangler(Editor):
    """Deletes, doubles, moves, changes, merges and invents characters, words and spans at random."""

    abilities = Abilities()

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def identity(self, search: SearchConfig | None = None) -> Identity:
        """Return a constant identity."""
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
        if rng.random() < 0.03:
            ranges = [(0, len(mt))]
        parts, edits, done, length = [], [], 0, 0
        for start, end in ranges:
            new = self._other(mt, mt[start:end])
            length += start - done
            op = "insert" if start == end else "replace" if new else "delete"
            edits.append(Edit(op, (start, end), (length, length + len(new))))  # type: ignore[arg-type]
            parts += [mt[done:start], new]
            length, done = length + len(new), end
        text = "".join([*parts, mt[done:]])
        if rng.random() < 0.1:  # as a system that reports no edits, or a single one
            edits = [] if rng.random() < 0.5 else [Edit("replace", (0, len(mt)), (0, len(text)))]
        nothing = ((0, 0),) * len(edits)
        return PostEdit(text, text != mt, edits=tuple(edits), token_spans=nothing, confidences=(0.5,) * len(edits))

    def _other(self, mt: str, old: str) -> str:
        rng = self._rng
        words = mt.split() or [""]
        place = rng.randint(0, len(old))
        ways: tuple[Callable[[], str], ...] = (
            lambda: "",
            lambda: f"{old} {old}",
            lambda: _span(rng)[rng.randint(0, 1)],
            lambda: re.sub(r"\d", lambda digit: str(rng.randint(0, 9)), old),
            old.swapcase,
            lambda: "".join(rng.sample(old, len(old))),
            lambda: old[:place] + rng.choice(" .,-<>{}%$#@/\\_`5aZ") + old[place:],
            lambda: " ".join(rng.sample(words, len(words))),
            lambda: old.replace(" ", ""),  # spans glued to words or other spans
            lambda: f"{old} {rng.choice(GLUE)}{rng.choice(words)}{rng.choice(GLUE)}",
            lambda: old[:place] + rng.choice(words) + old[place:],  # a span within another one
            lambda: old.translate(ALIKE),
            lambda: old[:place] + rng.choice("\u200b\u200d\u2060\ufeff\u00ad") + old[place:],
            lambda: old[::-1],
            lambda: _with_moved_numbers(rng, mt if old else ""),
        )
        return rng.choice(ways)()


def _with_moved_numbers(rng: random.Random, text: str) -> str:
    numbers = re.findall(r"\d+", text)
    rng.shuffle(numbers)
    return re.sub(r"\d+", lambda _: numbers.pop(), text)


def corrupted(segment: Segment, rule: SpanRule, text: str) -> bool:
    """Return whether a changed output breaks the rule or fails the independent check."""
    return text != segment.mt and (bool(rule.broken(text)) or differs(segment.src, segment.mt or "", text))


def differs(src: str, mt: str, text: str) -> bool:
    """Return whether an output loses, doubles or changes spans that source and mt share.

    The check is independent of how protection finds spans: it searches for spans as strings, numbers as digits, units
    beside digits and terms as words. Sizes must keep their order; dates, times, numbers with units and words with
    digits must stay together; tags must nest.
    """
    for span in LOOKED_FOR:
        there, before, now = (one.count(span) for one in (src, mt, text))
        if there == before != now and _is_span(span, src, mt) and (before or _alone(span, text)):
            return True
    for count in (_digits, _units):
        there, before, now = (count(one) for one in (src, mt, text))
        if any(there[one] == before[one] != now[one] for one in before):
            return True
    for there, before, now in zip(*map(_sizes, (src, mt, text)), strict=True):
        if {one[::-1] for one in now - there - before} & there & before:
            return True
    return _takes_apart(src, mt, text) or _loses_terms(src, mt, text) or (_nest(src) and _nest(mt) and not _nest(text))


LOOKED_FOR = sorted(
    {
        part
        for kind, spans in SPANS.items()
        for span in spans
        for part in re.findall(r"<[^<>]+>|&lt;[^&]+&gt;|\*\*", str(span)) or [span]
        if kind not in ("number", "unit", "term") and isinstance(part, str)
    },
    key=len,
    reverse=True,
)


def strings_differ(src: str, mt: str, text: str) -> bool:
    """Return whether an output has fewer or more of the numbers, tags, addresses or placeholders in both source and mt.

    It searches for them as digits and strings, independently of how protection finds them.
    """
    for count in (_digits, lambda one: Counter(_STRINGS.findall(one))):
        there, before, now = (count(one) for one in (src, mt, text))
        if any(there[one] == before[one] != now[one] for one in before):
            return True
    return False


_STRINGS = re.compile(r"</?[a-z]+[^<>]*>|https?://[^\s<>]*\w|\{\w+\}|\$\{\w+\}|%\d\$[sd]|\w+@\w+\.\w+")


def _is_span(span: str, src: str, mt: str) -> bool:
    """Return whether a string is certainly a span in both texts; where it is part of words, these must be the same."""
    here, there = _words_with(span, src), _words_with(span, mt)
    alone = [_ALONE.fullmatch(word) for word in (*here, *there)]
    return all(alone) or (here == there and any(alone))


def _alone(span: str, text: str) -> bool:
    """Return whether a string occurs as a word of its own; glued to other text, nobody would take it for a span.

    The braces around the text of a branch in an ICU message do not make it a placeholder.
    """
    if span[0] == "{" and re.search(", (?:plural|select),", text):
        return False
    return any(map(_ALONE.fullmatch, _words_with(span, text)))


def _words_with(span: str, text: str) -> Counter[str]:
    return Counter(word for word in text.replace(span, "\ue000").split() if "\ue000" in word)


_ALONE = re.compile("\ue000[.,]?")


def _as_pattern(span: str) -> str:
    if re.fullmatch(r"%(?:\d\$)?[ds]", span):
        return rf"(?<!\d){re.escape(span)}"  # 5%s is a percentage
    return re.escape(span) + ("[$#@_]*" if "://" in span else "")  # these characters would continue an address


_SPANS = re.compile("|".join(map(_as_pattern, LOOKED_FOR)))


def _digits(text: str) -> Counter[str]:
    text = re.sub(r"(\d\d)\.(\d\d)\.(\d{4})", "\0\\1\0\\2\0\\3\0", _SPANS.sub("\0", text))  # a date is three numbers
    return Counter(
        "." * (found[0] in ".,")
        + "".join(str(int(one)) if one.isdecimal() else one for one in re.sub("[., ]", "", found))
        for found in re.findall(_NUMBER, text)
    )


_NUMBER = (  # .5, ,5; -3; 1,000.5
    r"(?<![^\s$€])[.,]\d+(?![.,]?\d)|(?:(?<![\w.,%)+-])[+-])?\d+(?:[., ]\d{3}(?!\d)|[.,]\d+)*"
)


def _units(text: str) -> Counter[str]:
    text = re.sub(r"(?<!\d)%x|\$(?=\{)", "\0", text)  # glued to other text, these can be placeholders
    text = re.sub(r"(?<!\d)%@", "\0", _SPANS.sub(lambda span: "}" if span.group()[-1] == "}" else "\0", text))
    beside = r"(?:(?<=[\d}}])|(?<=[\d}}]\s)|(?<=[\d}}]\s\s)|(?<=[\d}}]\s\s\s)){0}|{0}(?=\s{{0,3}}\d)"
    return Counter({unit: len(re.findall(beside.format(re.escape(unit)), text)) for unit in "%€$"})


def _sizes(text: str) -> list[set[tuple[str, str]]]:
    """Return one set: the pairs of numbers with a cross between them that stand alone, as in 5 x 3."""
    return [set(re.findall(r"(?<!\S)(\d+) x (\d+)(?=[.,]?(?:\s|$))", text))]


def _takes_apart(src: str, mt: str, text: str) -> bool:
    """Return whether `text` lost a date, time, number with unit or word with digits that stands alone in src and mt."""
    for link in set(_LINKS.findall(src)) & set(_LINKS.findall(mt)):
        first, *others = re.findall(r"\w+", link)
        if others and others[-1].isalpha():
            unit = others[-1]
            pattern = rf"(?<!\d){first}\s{{0,3}}{unit}|{unit}\s{{0,3}}{first}(?!\d)"
        elif others and first.isdecimal():
            pattern = r"(?<!\d)" + r"\D{1,6}".join([first, *others]) + r"(?!\d)"
        else:
            pattern = re.escape(link)
        if not re.search(pattern, text, re.I):
            return True
    return False


_LINKS = re.compile(
    r"(?<!\S)(?:\d+(?:[:/-]\d+)+|\d\d\.\d\d\.\d{4}|\d+ (?:GB|MB|EUR)|[A-Z]\d|0x\w+|\de-\d)(?=[.,]?(?:\s|$))"
)


def _loses_terms(src: str, mt: str, text: str) -> bool:
    for ours, theirs in (("trees?", "Baum|Bäume"), ("control panel", "Systemsteuerung")):
        there, before = (  # alone: words within a span ($tree) are not terms
            len(re.findall(rf"(?<!\S)(?:{words})(?=[.,]?(?:\s|$))", one, re.I))
            for words, one in ((ours, src), (theirs, mt))
        )
        now = len(re.findall(rf"(?<!\w)(?:{theirs})(?!\w)", re.sub("[河日本]", " ", text), re.I))
        if now < min(there, before):
            return True
    return False


def _nest(text: str) -> bool:
    """Return whether all tags are paired and properly nested."""
    opened = []
    for slash, name, empty in re.findall(r"(?:<|&lt;)(/?)(a|b|i)(?:\s[^<>&]*?)?(/?)(?:>|&gt;)", text):
        if not slash and not empty:
            opened.append(name)
        elif slash and (not opened or opened.pop() != name):
            return False
    return not opened


def fuzz_batch(seed: int, number: int, count: int) -> tuple[list[int], list[str]]:
    """Return the counts of one batch, and descriptions of the outputs that are corrupted despite protection.

    The counts are those of outputs corrupted with protection, outputs corrupted without it, protected outputs with
    fallbacks, and protected outputs that differ from mt.
    """
    rng = random.Random(f"{seed} {number}")
    part = list(islice(segments(rng), count))
    state = rng.getstate()
    plain = Mangler(rng).edit_segments(part)
    rng.setstate(state)
    kept = Protected(Mangler(rng), glossary=GLOSSARY).edit_segments(part)
    rules = [SpanRule(one.src, one.mt, frozenset(KINDS), GLOSSARY) for one in part]
    wrong, bad = (
        [
            (one, found.text)
            for one, rule, found in zip(part, rules, outputs, strict=True)
            if corrupted(one, rule, found.text)
        ]
        for outputs in (plain, kept)
    )
    counts = [len(bad), len(wrong), sum(bool(one.fallbacks) for one in kept), sum(one.changed for one in kept)]
    return counts, [f"src  {one.src!r}\nmt   {one.mt!r}\nkept {text!r}" for one, text in bad]


def fuzz(count: int, seed: int, workers: int = 1, batch: int = 1000) -> tuple[list[int], list[str]]:
    """Return the summed counts and all descriptions of `fuzz_batch`, whatever the number of processes."""
    starts = range(0, count, batch)
    batches = repeat(seed), range(len(starts)), [min(batch, count - start) for start in starts]
    totals, shown = [0, 0, 0, 0], []
    with ProcessPoolExecutor(workers) if workers > 1 else nullcontext() as pool:
        for counts, outputs in pool.map(fuzz_batch, *batches) if pool else map(fuzz_batch, *batches):
            totals = [total + one for total, one in zip(totals, counts, strict=True)]
            shown += outputs
    return totals, shown


class Timed(EditorWrapper[Editor]):
    """Adds up the CPU seconds of an editor."""

    seconds = 0.0

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        """Return the outputs of the editor."""
        start = time.process_time()
        found = self.inner.edit_segments(segments, search, evidence=evidence)
        self.seconds += time.process_time() - start
        return found


def real(arguments: argparse.Namespace) -> None:
    """Print the corrupted segments, CPU time, memory and TER of a model with and without protection."""
    from postedit import PostEditor
    from postedit.evaluate.scores import score_systems

    src, mt = (read(path, arguments.lines) for path in (arguments.src, arguments.mt))
    alone = Timed(PostEditor.load(*([arguments.model] if arguments.model else [])))
    editors: dict[str, Editor] = {"alone": alone, "protected": Protected(alone)}
    shares = []
    seconds: dict[str, list[float]] = {name: [] for name in editors}
    outputs: dict[str, list[PostEdit]] = {}
    alone.edit(src[:50], mt[:50])
    for number in range(arguments.rounds):
        for name in editors if number % 2 == 0 else reversed(editors):
            start, alone.seconds = time.process_time(), 0.0
            parts = (slice(first, first + LINES_AT_A_TIME) for first in range(0, len(src), LINES_AT_A_TIME))
            outputs[name] = [one for part in parts for one in editors[name].edit(src[part], mt[part])]
            seconds[name].append(time.process_time() - start)
            if name == "protected":
                shares.append(seconds[name][-1] / alone.seconds - 1)
    for name, results in outputs.items():
        broken = sum(
            bool(SpanRule(*pair, frozenset(KINDS), None).broken(one.text)) or strings_differ(*pair, one.text)
            for pair, one in zip(zip(src, mt, strict=True), results, strict=True)
        )
        saved = Counter(fallback.by for one in results for fallback in one.fallbacks)
        print(
            f"{name}: {len(src):,} lines, {sum(one.changed for one in results):,} changed, {broken:,} corrupted, "
            f"{statistics.median(seconds[name]):.2f} s; saved: {dict(saved)}"
        )
    print(f"the checks take {statistics.median(shares):.1%} of the seconds of the model in the same round")
    print(f"at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB")
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


def people(folders: Sequence[Path]) -> None:
    """Print how many post-edits by people break the rule, by kind of span; a rule that people often break is wrong."""
    total, kinds, broken = 0, Counter[str](), 0
    for folder in folders:
        for src, mt, pe in zip(*(read(folder / f"dev.{side}", None) for side in ("src", "mt", "pe")), strict=True):
            found = {value.kind for value in SpanRule(src, mt, frozenset(KINDS), None).broken(pe)}
            kinds.update(found)
            total, broken = total + 1, broken + bool(found)
    print(f"{total:,} post-edits, {broken:,} break the rule ({broken / total:.2%}): {dict(kinds)}")


def terms(count: int) -> None:
    """Print the CPU time to prepare a glossary of random terms, and then to search a line of 20 to 25 words."""
    rng = random.Random(1)
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(3, 9))) for _ in range(30_000)]
    names = [" ".join(rng.choices(words, k=rng.randint(1, 3))) for _ in range(count)]
    lines = [" ".join(rng.choices(words, k=rng.randint(20, 25))) for _ in range(2000)]
    start = time.process_time()
    glossary = Glossary(GlossaryEntry(name, ("x",)) for name in names)
    glossary.find("nothing")
    ready = time.process_time()
    found = sum(len(glossary.find(line)) for line in lines)
    seconds = (time.process_time() - ready) / len(lines)
    print(f"{count:,} entries: ready after {ready - start:.2f} s; {seconds * 1e6:.0f} µs a line; {found:,} terms found")


def read(path: Path, count: int | None) -> list[str]:
    with path.open(encoding="utf-8", newline="\n") as lines:
        return [line.removesuffix("\n") for line in islice(lines, count)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    fuzzing = commands.add_parser("fuzz")
    fuzzing.add_argument("--segments", type=int, default=1_000_000)
    fuzzing.add_argument("--seed", type=int, default=1)
    fuzzing.add_argument("--workers", type=int, default=1, help="processes")
    lines = commands.add_parser("real")
    lines.add_argument("model", nargs="?", help="the model that comes with postedit if not given")
    for side in ("src", "mt"):
        lines.add_argument(f"--{side}", type=Path, required=True)
    lines.add_argument("--pe", type=Path)
    lines.add_argument("--lines", type=int)
    lines.add_argument("--rounds", type=int, default=3)
    lines.add_argument("--show", type=int, default=0, help="segments with fallbacks to print")
    rate = commands.add_parser("people")
    rate.add_argument("folders", type=Path, nargs="+", help="with dev.src, dev.mt and dev.pe")
    glossary = commands.add_parser("terms")
    glossary.add_argument("--entries", type=int, default=50_000)
    arguments = parser.parse_args()
    if arguments.command == "real":
        real(arguments)
    elif arguments.command == "people":
        people(arguments.folders)
    elif arguments.command == "terms":
        terms(arguments.entries)
    else:
        start = time.perf_counter()
        (behind, without, taken, changed), shown = fuzz(arguments.segments, arguments.seed, arguments.workers)
        print(*shown, sep="\n\n")
        print(
            f"{arguments.segments:,} segments: {without:,} corrupted without protection, {behind:,} with it; "
            f"{taken:,} had fallbacks, {changed:,} changed all the same; {time.perf_counter() - start:,.0f} s"
        )


if __name__ == "__main__":
    main()
