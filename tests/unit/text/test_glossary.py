"""Terms in texts, and the rule for outputs."""

import itertools
import pickle
from pathlib import Path
from typing import Any

import pytest

from postedit.core.errors import DataError
from postedit.text import glossary
from postedit.text.glossary import Glossary, GlossaryEntry, TermRule
from postedit.text.protected_spans import Value, find_spans

FILE = GlossaryEntry("file", ("Datei",), ("Akte",), source_forms=("files",), target_forms=("Dateien",))


def found(entries: list[GlossaryEntry], src: str) -> dict[str, int]:
    return {one.entry.source: one.count for one in Glossary(entries).find(src)}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (("house", "Haus"), r"targets of the term 'house' must be a tuple of texts, not 'Haus'"),
        (("house", (), [3]), r"forbidden of the term 'house' must be a tuple of texts, not \[3\]"),
        ((None,), "source of a glossary entry must be text, not None"),
    ],
)
def test_entries_check_themselves(values: Any, message: str) -> None:
    with pytest.raises(DataError, match=f"^{message}"):
        GlossaryEntry(*values)


def test_entries_may_have_lists() -> None:
    assert {GlossaryEntry("house", ["Haus"]): 1} == {GlossaryEntry("house", ("Haus",)): 1}  # type: ignore[arg-type]


@pytest.mark.parametrize("entries", ["abc", [("house", "Haus")], {"house": "Haus"}])
def test_a_glossary_has_only_entries(entries: Any) -> None:
    with pytest.raises(DataError, match=r"^entry must be a GlossaryEntry, such as GlossaryEntry"):
        Glossary(entries)


@pytest.mark.parametrize(
    ("src", "count"),
    [
        ("Open the file.", 1),
        ("FILE and File", 2),
        ("files, file", 2),
        ("profile filed", 0),
        ("a file-name", 1),
        ("", 0),
    ],
)
def test_terms_match_whole_words_and_listed_forms(src: str, count: int) -> None:
    assert found([FILE], src).get("file", 0) == count


@pytest.mark.parametrize("cased", [[True, False], [False, True]])
def test_terms_of_the_same_words_are_found_in_the_order_of_the_glossary(cased: list[bool]) -> None:
    entries = [GlossaryEntry("bus", (str(number),), case_sensitive=one) for number, one in enumerate(cased)]
    assert [entry for _, _, entry in Glossary(entries).places("the bus")] == entries


def test_the_longest_term_wins() -> None:
    entries = [GlossaryEntry("hard disk", ("a",)), GlossaryEntry("disk", ("b",)), GlossaryEntry("hard", ("c",))]
    assert found(entries, "a hard  disk, a disk") == {"hard disk": 1, "disk": 1}


def test_the_beginning_of_a_longer_term_matches_at_the_end_of_a_text() -> None:
    entries = [GlossaryEntry("hard disk drive", ("a",)), GlossaryEntry("hard", ("c",))]
    assert found(entries, "very hard") == {"hard": 1}


def test_the_longest_of_nested_terms_wins_and_case_decides_between_them() -> None:
    nested = [GlossaryEntry("a " * number + "B", (str(number),), case_sensitive=True) for number in range(3)]
    assert found([*nested, GlossaryEntry("a a", ("x",))], "a a B") == {"a a B": 1}
    assert found([*nested, GlossaryEntry("a a", ("x",))], "a a b B") == {"a a": 1, "B": 1}


def test_each_word_is_written_once_however_many_terms_begin_at_it(monkeypatch: pytest.MonkeyPatch) -> None:
    given = Glossary(GlossaryEntry("Ab " * count, ("x",), case_sensitive=True) for count in range(1, 51))
    assert not given.places("")
    calls, written = [], glossary._written
    monkeypatch.setattr(glossary, "_written", lambda words: calls.append(1) or written(words))
    assert not given.places("aB " * 200)
    assert len(calls) == 200


def test_all_entries_of_a_term_are_merged_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, replace = [], glossary.replace
    monkeypatch.setattr(glossary, "replace", lambda *given, **values: calls.append(1) or replace(*given, **values))
    (entry,) = Glossary(GlossaryEntry("a", (f"b{number}",)) for number in range(50)).entries
    assert entry.targets == tuple(f"b{number}" for number in range(50))
    assert len(calls) == 1


def test_a_term_of_others_may_have_a_thousand_forms() -> None:
    forms = tuple(f"b{number}" for number in range(400))
    Glossary([GlossaryEntry("a", forms, target_forms=forms), GlossaryEntry("c", forms)]).check_forms()
    with pytest.raises(DataError, match="the term 'a' has 1,200 translations and forms; give 1,000 at most"):
        Glossary([GlossaryEntry("a", forms, forms), GlossaryEntry("a", (), (), source_forms=forms)]).check_forms()


def test_few_terms_may_be_alike() -> None:
    words = ["".join(one) for one in itertools.product(*(f"{one}{one.upper()}" for one in "abcdefg"))]
    Glossary(GlossaryEntry(word, ("x",)) for word in words[:100]).check_alike()
    Glossary(GlossaryEntry(word, ("x",), case_sensitive=True) for word in words).check_alike()
    with pytest.raises(DataError, match="has 128 terms that differ only in case or white space; at most 100"):
        Glossary(GlossaryEntry(word, ("x",)) for word in words).check_alike()


def test_case_counts_where_the_entry_says_so_but_for_a_capital() -> None:
    entry = GlossaryEntry("apple", ("x",), case_sensitive=True)
    assert found([entry], "apple Apple APPLE") == {"apple": 2}


def test_a_spelling_belongs_to_the_entry_that_has_it() -> None:
    entries = [GlossaryEntry(source, ("x",), case_sensitive=True) for source in ("apple", "Apple")]
    assert found(entries, "apple Apple Apple") == {"apple": 1, "Apple": 2}


@pytest.mark.parametrize(("term", "forbidden"), [("E-Mail", "e-mail"), ("Internet", "internet")])
def test_a_term_in_another_case_can_be_forbidden(tmp_path: Path, term: str, forbidden: str) -> None:
    path = tmp_path / "terms.tsv"
    path.write_text(f"source\ttarget\tforbidden\nnet\t{term}\t{forbidden}\n")
    rule = TermRule(Glossary.read(str(path)).find("the net"), "das Netz")
    assert (rule.broken(f"das {term}"), rule.wishes(f"das {term}")) == ([], ([], []))
    assert rule.broken(f"das {forbidden}") == [Value("forbidden term", forbidden)]
    assert rule.swapped(f"das {forbidden}") == f"das {term}"


@pytest.mark.parametrize("before", ["", "“", "1. ", "It is. ", "He said: “", "a\n- "])
def test_a_capital_that_begins_a_sentence_is_no_forbidden_spelling(before: str) -> None:
    found = Glossary([GlossaryEntry("réseau", ("internet",), ("Internet",))]).find("Le réseau est bon.")
    rule = TermRule(found, "The internet is good.")
    text = f"{before}Internet is good."
    assert (rule.broken(text), rule.wishes(text), rule.swapped(text)) == ([], ([], []), text)
    assert rule.broken(f"{before}The Internet") == [Value("term", "internet"), Value("forbidden term", "Internet")]
    assert rule.swapped(f"{before}The Internet") == f"{before}The internet"


@pytest.mark.parametrize(("term", "forbidden"), [("macOS", "MacOS"), ("iPhone", "IPhone")])
def test_a_term_with_capitals_within_gets_none_at_the_start_of_a_sentence(term: str, forbidden: str) -> None:
    rule = TermRule(
        Glossary([GlossaryEntry("system", (term,), (forbidden,))]).find("The system works."), f"{term} works."
    )
    assert rule.broken(f"{forbidden} works.") == [Value("term", term), Value("forbidden term", forbidden)]


def test_forbidden_translations_that_differ_in_case_are_swapped_alike() -> None:
    rule = TermRule(Glossary([GlossaryEntry("mail", ("E-Mail",), ("e-mail", "Mail", "mail"))]).find("a mail"), None)
    assert rule.swapped("eine mail") == rule.swapped("eine Mail") == "eine E-Mail"


def test_a_term_written_at_the_start_of_a_sentence_has_a_capital() -> None:
    rule = TermRule(Glossary([GlossaryEntry("courriel", ("e-mail",), ("E-Mail",))]).find("un courriel"), None)
    assert rule.swapped("E-Mail is good.") == "E-mail is good."
    assert rule.swapped("An E-Mail") == "An e-mail"


def test_sentences_begin_after_the_full_stop_of_armenian() -> None:
    rule = TermRule(Glossary([GlossaryEntry("file", ("նիշք",), ("Ֆայլ",))]).find("a file"), None)
    assert rule.swapped("Այո։ Ֆայլ։") == "Այո։ Նիշք։"
    assert rule.swapped("Այո Ֆայլ։") == "Այո նիշք։"


def test_capitals_of_turkish_terms_have_their_own_dots() -> None:
    found = Glossary([GlossaryEntry("light", ("ışık",), ("ikon",)), GlossaryEntry("box", ("iz",), ("kutu",))]).find(
        "The light of the box"
    )
    rule = TermRule(found, None, language="tr")
    assert rule.wishes("IŞIK, İZ, ISIK, Iz") == ([], [])
    assert rule.wishes("İKON, iz") == (["ışık"], ["ikon"])
    assert rule.swapped("İkon. Kutu.") == "Işık. İz."
    assert TermRule(found, None, language="en").swapped("Kutu.") == "Iz."


def test_a_georgian_term_gets_no_capital() -> None:
    rule = TermRule(Glossary([GlossaryEntry("file", ("ფაილი",), ("file",))]).find("a file"), None, language="ka")
    assert rule.swapped("File.") == "ფაილი."


def test_a_forbidden_spelling_makes_no_other_term_case_sensitive() -> None:
    found = Glossary([GlossaryEntry("E-mail", ("E-Mail", "Nachricht"), ("e-mail",))]).find("Send an e-mail")
    rule = TermRule(found, "eine E-Mail")
    assert rule.broken("eine e-mail")
    assert rule.broken("eine NACHRICHT") == []


@pytest.mark.parametrize("cased", [False, True])
def test_a_term_and_its_forbidden_spelling_can_be_in_two_entries(cased: bool) -> None:
    entries = [
        GlossaryEntry("net", ("Internet",)),
        GlossaryEntry("net", (), ("internet",), case_sensitive=cased),
        GlossaryEntry("net", ("Netz",)),
    ]
    rule = TermRule(Glossary(entries).find("the net"), "das internet")
    assert (rule.broken("das Internet"), rule.wishes("das Internet")) == ([], ([], []))
    assert rule.wishes("das internet") == (["Internet"], ["internet"])
    assert rule.broken("das Netz") == []


def test_scripts_without_spaces_match_anywhere() -> None:
    assert found([GlossaryEntry("文件", ("file",))], "打开文件夹和文件。") == {"文件": 2}


@pytest.mark.parametrize(
    ("mt", "output", "broken"),
    [
        ("die Datei", "die Dateien", []),
        ("die Datei", "das Blatt", [Value("term", "Datei")]),
        ("das Blatt", "das Dokument", []),
        ("Datei Datei", "eine Datei", []),
        ("die Datei", "die Datei, Akte", [Value("forbidden term", "Akte")]),
        ("die Akte", "die Akte", []),
        ("die Akte", "die Datei", []),
    ],
)
def test_terms_of_mt_stay_and_forbidden_ones_are_not_added(mt: str, output: str, broken: list[Value]) -> None:
    assert TermRule(Glossary([FILE]).find("Open the file"), mt).broken(output) == broken


def test_search_is_to_write_missing_terms_and_no_forbidden_ones() -> None:
    rule = TermRule(Glossary([FILE]).find("Open the file"), "die Akte")
    assert rule.wishes("die Akte") == (["Datei"], ["Akte"])
    assert rule.wishes("Dateien") == ([], [])


def test_a_forbidden_word_within_a_longer_term_is_not_counted() -> None:
    entry = GlossaryEntry("case", ("Akten-Ordner",), ("Akten",))
    assert TermRule(Glossary([entry]).find("a case"), "x").broken("der Akten-Ordner") == []


def test_each_target_of_entries_with_the_same_source_is_allowed() -> None:
    glossary = Glossary([GlossaryEntry("file", ("文件",)), GlossaryEntry("file", ("档案",))])
    rule = TermRule(glossary.find("a file"), "文件")
    assert rule.broken("档案") == []
    assert rule.wishes("档案") == ([], [])
    assert rule.broken("没有")


def test_a_translation_of_one_entry_is_not_forbidden_by_another() -> None:
    glossary = Glossary([GlossaryEntry("file", ("Datei",), ("Ordner",)), GlossaryEntry("folder", ("Ordner",))])
    assert TermRule(glossary.find("file in a folder"), "Datei").broken("Datei im Ordner") == []
    assert TermRule(glossary.find("a file"), "Datei").broken("Datei im Ordner")


def test_words_within_spans_are_no_terms_but_a_whole_span_is() -> None:
    text = "file.txt, /usr/file, file"
    assert Glossary([FILE]).find(text, find_spans(text))[0].count == 1
    name = GlossaryEntry("PowerPoint", ("x",))
    assert Glossary([name]).find("PowerPoint", find_spans("PowerPoint"))[0].count == 1


@pytest.mark.parametrize(
    ("term", "src"),
    [
        ("d'accès", "d’acce\u0300s"),
        ("café", "Cafe\u0301"),
        ("हिन्दी", "यह हिन्दी है"),
        ("हिन्दी", "हिन्दी"),
        ("ガイド", "カ\u3099イト\u3099"),
        ("ハ\u309aス", "パス"),
    ],
)
def test_terms_match_in_other_spellings_of_the_same_word(term: str, src: str) -> None:
    assert found([GlossaryEntry(term, ("x",))], src) == {term: 1}


def test_a_word_does_not_end_before_a_combining_mark() -> None:
    assert found([GlossaryEntry("हिन", ("x",))], "हिन्दी") == {}


@pytest.mark.parametrize(
    ("term", "text", "count"),
    [
        ("สี", "สี่สี", 1),  # "four colours"
        ("ក", "ក្ក និង ក", 1),
        ("ရန်", "ရန်န်ရန်", 2),
        ("ນ້ຳ", "ນ້ຳ", 1),
    ],
)
def test_no_term_ends_before_a_sign_of_its_last_letter(term: str, text: str, count: int) -> None:
    assert found([GlossaryEntry(term, ("x",))], text) == {term: count}


@pytest.mark.parametrize(
    ("term", "text"),
    [
        ("ទំព័រដើម", "ទំព័រ\u200bដើម"),
        ("قاعدة بيانات", "\u2067قاعدة \u200fبيانات\u2069"),
        ("لوحة API", "لوحة \u200eAPI\u200f"),
    ],
)
def test_invisible_characters_between_words_do_not_count(term: str, text: str) -> None:
    assert found([GlossaryEntry(term, ("x",))], text) == {term: 1}


@pytest.mark.parametrize(
    ("term", "word"),
    [("यो", "गर्\u200dयो"), ("خواهم", "می\u200cخواهم"), ("වාක්", "වාක්\u200dය"), ("র", "র\u200d্যাব")],
)
def test_a_word_goes_on_after_a_zero_width_joiner(term: str, word: str) -> None:
    assert found([GlossaryEntry(term, ("x",))], word) == {}
    assert found([GlossaryEntry(word, ("x",))], f"{word}। {term}\u200d") == {word: 1}


def test_a_glossary_that_comes_again_is_not_built_again() -> None:
    """A service sends the glossary of a project to its model processes with each batch."""
    glossary = Glossary([GlossaryEntry("house", ("Haus",)), GlossaryEntry("tree", ("Baum",), ("Bäume",))])
    first, again = (pickle.loads(pickle.dumps(glossary)) for _ in range(2))
    assert first == glossary
    assert first.entries == glossary.entries
    assert again is first
