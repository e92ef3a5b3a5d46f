"""Candidate edits by a slow and plain implementation, which scans all triplets."""

import math
import random
from collections import defaultdict

import numpy as np

from postedit.phrase.decoder import sentence_of
from postedit.phrase.edit_alignment import UNLINKED
from postedit.phrase.edit_candidates import LONGEST_TARGET
from postedit.phrase.pair_table import lookup, pair
from postedit.phrase.phrase_model import PhraseModel, SplitTriplet, learn
from postedit.phrase.phrase_options import PhraseConfig
from postedit.phrase.source_alignment import NO_WORD, NOT_JOINED
from postedit.phrase.triplet_index import LONGEST, SOURCE
from postedit.phrase.word_ids import TextsBuilder

SENTENCES = [
    ("the house is green .", "der Haus ist grün ,"),
    ("press the blue key .", "drücken Sie die blaue Taste ,"),
    ("the red tree is big .", "der rote Baum ist groß ,"),
    ("a house .", "ein Haus ."),
    ("unknown .", "unbekannt fällt ,"),
]


def edited(rng: random.Random, words: list[str]) -> list[str]:
    """Return words with some of them replaced, repeated, removed, or followed by up to nine others."""
    found = [*words, "d"]
    for _ in range(rng.randint(0, 3)):
        at = rng.randrange(len(found))
        others = rng.choices("xyz", k=rng.randint(1, 9))
        parts: list[list[str]] = [[rng.choice("abcx")], [found[at]] * 2, [found[at], *others], []]
        found[at : at + 1] = rng.choice(parts) if len(found) > 1 else [found[at]]
    return found


def learnt_from_random_texts(rng: random.Random) -> PhraseModel:
    """Return a model of a few random triplets of few words."""
    mt = [rng.choices("abc", k=rng.randint(1, 9)) for _ in range(40)]
    triplets = [SplitTriplet([f"s{word}" for word in words], [*words, "d"], edited(rng, words)) for words in mt]
    return learn(triplets, PhraseConfig())


def sentence(model: PhraseModel, src: str, mt: str):
    texts, others = [], dict[str, int]()
    for text, bounded in ((mt, True), (src, False)):
        builder = TextsBuilder(bounded=bounded)
        builder.append(model.words.find(text.split(), others))
        texts.append(builder.texts())
    return sentence_of(texts[0], NOT_JOINED, texts[1], model.knowledge.translations, 0)


def consistent_target(links: dict[int, int], at: int, length: int) -> tuple[int, int] | None:
    """Return the tightest phrase of pe by the definition of Och and Ney (2004); `links` maps pe to mt."""
    inside = [j for j, i in links.items() if at <= i < at + length]
    if not inside:
        return None
    first, last = min(inside), max(inside)
    if any(first <= j <= last and not at <= i < at + length for j, i in links.items()):
        return None
    return first, last + 1


def cuts_change(one, old: list[int], new: list[int], links: dict[int, int], start: int, at: int, length: int) -> bool:
    """Return whether a phrase of a sentence cuts a change of a triplet at a deleted word, and a longer one does not."""
    counterparts, mt = {i: j for j, i in links.items()}, one.mt.tolist()
    changed = [i not in counterparts or new[counterparts[i]] != word for i, word in enumerate(old)]
    alike = {i for i, word in enumerate(old) if 0 <= i - at + start < len(mt) and mt[i - at + start] == word}
    part = {*range(at, at + length)}
    whole = part.copy()
    for last, step in ((at, -1), (at + length - 1, 1)):
        while changed[last] and last + step in alike and changed[last + step]:
            last += step
            whole.add(last)
    ends = [{i, i + 1} for i in (at - 1, at + length - 1) if i >= 0 and {i, i + 1} <= whole]
    return len(whole) <= LONGEST and any(not pair <= counterparts.keys() for pair in ends)


def fit(model: PhraseModel, one, words: list[int]) -> float:
    """Return the log-probability of words, each given the source word, or none, that explains it best."""
    table = model.knowledge.translations
    sources = [NO_WORD, *one.src.tolist()]
    best = [
        max(float(lookup(table.keys, table.probabilities, pair(source, word), np.float32(0.0))) for source in sources)
        for word in words
    ]
    return sum(math.log(max(1e-3, each)) for each in best)


def inverse(model: PhraseModel, phrase: list[int], count: int) -> float:
    """Return the log-probability of an old phrase that became `phrase` `count` times, given the first words of it."""
    words, phrase = model.knowledge.trained.pe.words.tolist(), phrase[:LONGEST]
    if not phrase:
        return 0.0
    times = sum(words[at : at + len(phrase)] == phrase for at in range(len(words)))
    return math.log(min(1.0, (count - 0.5) / max(times, 1)))


def slowly_found(
    model: PhraseModel, one, *, whole: bool = False
) -> dict[tuple[int, int, tuple[int, ...]], dict[str, float]]:
    """Return the features of each candidate but the lexical ones; `whole`: parts of changes do not count."""
    index = model.knowledge.trained
    mt, n = one.mt.tolist(), one.mt.size
    evidence = defaultdict(list)  # of each change: a record for each phrase
    for start in range(n):
        for length in range(1, min(LONGEST, n - start) + 1):
            total = kept = same = 0
            changed: dict[tuple[int, int, tuple[int, ...]], list[bool]] = defaultdict(list)
            for row in range(len(index.mt_starts) - 1):
                old = index.mt.words[index.mt_starts[row] : index.mt_starts[row + 1]].tolist()
                new = index.pe.words[index.pe_starts[row] : index.pe_starts[row + 1]].tolist()
                raw = index.links[index.pe_starts[row] : index.pe_starts[row + 1]].tolist()
                links = {j: i for j, i in enumerate(raw) if i != UNLINKED}
                for at in range(len(old) - length + 1):
                    if old[at : at + length] != mt[start : start + length]:
                        continue
                    total += 1
                    place = index.mt_starts[row] + at
                    sources = index.cells[place : place + length, SOURCE].tolist()
                    agrees = sources == one.sources[start : start + length].tolist()
                    same += agrees
                    target = consistent_target(links, at, length)
                    if target is None or target[1] - target[0] > LONGEST_TARGET:
                        continue
                    if whole and cuts_change(one, old, new, links, start, at, length):
                        continue
                    phrase, begin, end = new[slice(*target)], start, start + length
                    if phrase == mt[begin:end]:
                        kept += 1
                        continue
                    while begin < end and phrase and phrase[0] == mt[begin]:
                        begin, phrase = begin + 1, phrase[1:]
                    while begin < end and phrase and phrase[-1] == mt[end - 1]:
                        end, phrase = end - 1, phrase[:-1]
                    changed[begin, end, tuple(phrase)].append(agrees)
            for change, agreeing in changed.items():
                odds = math.log((len(agreeing) - 0.5) / (total - len(agreeing) + 1.0))
                agree = sum(agreeing)
                source = math.log((agree - 0.5 if agree else 0.5) / (same - agree + 1.0))
                evidence[change].append((length, odds, len(agreeing), kept, source, start))
    result = {}
    for change, records in evidence.items():
        if max(odds for _, odds, *_ in records) < -2.5:
            continue
        shortest = next(record for record in records if record[0] == min(one[0] for one in records))
        most = max(record[0] for record in records)
        longest = max((record for record in records if record[0] == most), key=lambda record: record[1])
        begin, end, words = change
        start, old = longest[5], mt[begin:end]
        phrase = [*mt[start:begin], *words, *mt[end : start + most]]
        result[change] = {
            "edits": 1.0,
            "words changed": max(end - begin, len(words)),
            "length": len(words) - (end - begin),
            "phrase": shortest[1],
            "phrase in context": longest[1],
            "best phrase": max(odds for _, odds, *_ in records),
            "seen changed": math.log(longest[2]),
            "seen changed anywhere": math.log(shortest[2]),
            "seen kept": math.log(1 + longest[3]),
            "context": most - (end - begin),
            "phrases": math.log(len(records)),
            "source agrees": longest[4],
            "source fit": fit(model, one, list(words)) - fit(model, one, old),
            "phrase inverse": inverse(model, phrase, longest[2]),
        }
    return result
