"""Answers are parsed strictly, and checked against their segments."""

import json

import pytest

from postedit.llm.answers import AnswerError, ErrorSpan, Item, parse_answer
from postedit.llm.checks import fault_of
from postedit.llm.prompts import Question


def text_of(*items: dict[str, object]) -> str:
    return json.dumps({"segments": list(items)})


A, B = {"id": "a", "correction": "x"}, {"id": "b", "correction": "y"}


@pytest.mark.parametrize(
    "text",
    [
        text_of(A, B),
        text_of(B, A),
        json.dumps([A, B]),
        f"```json\n{text_of(A, B)}\n```",
        f"<think>{{ hm }}</think>\n\n{text_of(A, B)}",
        f"[ID a] `is` {{...}}.\n</think>\n\n{text_of(A, B)}",
        f'{{"id": 1, "id": 2}} is wrong.\n</think>\n\n{text_of(A, B)}',
    ],
)
def test_sound_answers(text: str) -> None:
    assert parse_answer(text, ["a", "b"], "corrections") == {"a": Item("x"), "b": Item("y")}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (text_of(A), "dropped"),
        (text_of(A, {"id": "b", "correction": " "}), "dropped"),
        ("", "dropped"),
        (text_of(A, B, A), "doubled"),
        ('{"segments": [], "segments": []}', "doubled"),
        (text_of(A, B, {"id": "c", "correction": "z"}), "unknown id"),
        (text_of(A, B)[:-5], "cut off"),
        (text_of(A, B)[:30], "cut off"),
        ("I'm sorry, but I can't help with that.", "refused"),
        ("Sure!\n" + text_of(A, B), "chatter"),
        (text_of(A, B) + "\nDone.", "chatter"),
        ("The translations are fine.", "chatter"),
        (text_of({"id": "a", "text": "x"}, B), "unreadable"),
        (text_of({**A, "note": "n"}, B), "unreadable"),
        (text_of({"id": 1, "correction": "x"}, B), "unreadable"),
        ('"a"', "unreadable"),
        ('{"segments": {"a": "x"}}', "unreadable"),
        (text_of(A, B)[:-1] + ', "note": "n"}', "unreadable"),
        ("[" * 100_000, "unreadable"),
        (f'{{"segments": [{{"id": {"1" * 5000}, "correction": "x"}}]}}', "unreadable"),
        ('{"segments": [x]}', "unreadable"),
    ],
)
def test_faults_of_whole_answers(text: str, fault: str) -> None:
    with pytest.raises(AnswerError) as found:
        parse_answer(text, ["a", "b"], "corrections")
    assert found.value.fault == fault


def test_a_mark_of_thoughts_within_a_correction_is_text() -> None:
    marked = "the tag </think> ends it"
    assert parse_answer(text_of({"id": "a", "correction": marked}), ["a"], "corrections") == {"a": Item(marked)}


def test_an_assistant_is_no_refusal() -> None:
    question = Question("Er arbeitet als Assistent.", "He works as assistant.")
    assert fault_of(question, "He works as an assistant.") is None
    assert fault_of(question, "As an assistant, I help him to work.") != "refused"
    assert fault_of(Question("x", "She works as AI engineer."), "She works as an AI engineer.") is None
    assert fault_of(Question("x", "BERT serves as language model."), "BERT serves as a language model.") is None
    assert fault_of(question, "As an AI language model, I cannot work as an assistant.") == "refused"
    assert fault_of(question, "As an AI, my guidelines do not allow this.") == "refused"
    assert fault_of(question, "As an assistant, I cannot do that.") == "refused"


def test_long_runs_of_spaces_are_checked_in_linear_time() -> None:
    # This would take an hour if each space were tried as the beginning of a note.
    assert fault_of(QUESTION, f"Das Haus ist rot{' ' * 1_000_000}und groß .") == "unrelated"


def test_errors_come_before_corrections() -> None:
    error = {"span": "gross", "category": "fluency", "severity": "minor"}
    text = text_of({"id": "a", "errors": [error], "correction": "groß"})
    assert parse_answer(text, ["a"], "errors") == {"a": Item("groß", (ErrorSpan("gross", "fluency", "minor"),))}
    for wrong in (text_of(A), text_of({"id": "a", "errors": [{"span": "x"}], "correction": "x"})):
        with pytest.raises(AnswerError):
            parse_answer(wrong, ["a"], "errors")


MT = "Das Haus ist rot und gross ."
QUESTION = Question("The house is red and big .", MT)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (MT, None),
        ("Das Haus ist rot und groß .", None),
        ("Das Haus ist groß .", None),
        ("Das rote Haus ist groß .", None),
        ("Das Haus ist rot", "cut off"),
        ("Das Haus ist ro", "cut off"),
        ("The house is red and big .", "language"),
        ("La maison est rouge et grande .", "language"),
        ("Дом красный и большой .", "language"),
        ("Here is the correction: Das Haus ist rot und groß .", "chatter"),
        ("Das Haus ist rot und groß .\n\nNote: fixed spelling", "chatter"),
        ("**Correction:** Das Haus ist rot und groß .", "chatter"),
        ('"Das Haus ist rot und groß ."', "chatter"),
        ("```Das Haus ist rot und groß .```", "chatter"),
        ("Korrektur: Das Haus ist rot und groß .", "chatter"),
        ("Das Haus ist rot und groß . (Rechtschreibung)", "chatter"),
        ("Das Haus ist rot und groß (Rechtschreibung) .", "chatter"),
        ("Das Haus ist rot und groß .（注）", None),  # too short for a note
        ("**Das Haus ist rot und groß .**", "chatter"),
        ("# Das Haus ist rot und groß .", "chatter"),
        ("Das Haus ist rot: und groß .", None),
        ("Das Haus ist rot und (wirklich) gross .", None),
        ("Das Haus ist .", "cut off"),
        ("Das Haus ist ...", "cut off"),
        ("\u202eDas Haus ist rot und groß .", "unreadable"),
        ("\ufeffDas Haus ist rot und groß .", "unreadable"),
        ("Das\u200b Haus ist rot und groß .", "unreadable"),
        ("Das Haus ist rot und g\u00adroß .", "unreadable"),
        ("Das Haus ist rot und groß .\U000e0058", "unreadable"),
        ("Das Haus\u200e ist rot und groß .", None),
        ("As an AI, I cannot correct Das Haus ist rot .", "refused"),
        ("PWNED", "unrelated"),
        ("Das Haus ist rot und gro\ufffd .", "unreadable"),
        ("Das Haus ist rot und groß .\x00", "unreadable"),
        ("Das Haus ist rot und gross . " * 4, "unrelated"),
    ],
)
def test_faults_of_corrections(text: str, fault: str | None) -> None:
    assert fault_of(QUESTION, text, target="de") == fault
    if fault != "language":
        assert fault_of(QUESTION, text) == fault


@pytest.mark.parametrize(
    ("src", "mt", "text"),
    [
        ("It is off.", "Es ist aus. Es ist aus.", "Es ist aus."),
        ("The light is red today .", "Das Licht ist rot rot rot rot rot rot rot heute .", "Das Licht ist rot heute ."),
        ("The printer is switched off now.", "Drucker ist aus, ist aus, ist aus.", "Drucker ist aus."),
        ("The printer is switched off.", "打印机已关闭。打印机已关闭。", "打印机已关闭。"),
        ("Please do read this first.", "Bitte lesen lesen lesen lesen lesen lesen Sie.", "Bitte lesen Sie."),
        ("Save the file.", "Speichern Sie die Datei. Vielen Dank.", "Speichern Sie die Datei."),
    ],
)
def test_what_mt_has_too_much_may_go(src: str, mt: str, text: str) -> None:
    assert fault_of(Question(src, mt), text) is None


@pytest.mark.parametrize(
    "text",
    [
        "Das Haus am See ist rot .",  # the mark at the end is that of mt
        "Das Haus gross .",  # and so is the last word
    ],
)
def test_a_text_that_ends_as_mt_does_may_be_cut_off(text: str) -> None:
    question = Question("The house by the lake is red and large .", "Das Haus am See ist rot und gross .")
    assert fault_of(question, text) == "cut off"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Wasser Wass .", "cut off"),
        ("Wasser Straße .", None),
    ],
)
def test_text_that_breaks_off_in_a_word_is_cut_off_though_mt_repeats(text: str, fault: str | None) -> None:
    assert fault_of(Question("water street .", "Wasser Wasser Straße ."), text) == fault
    assert fault_of(Question("water street .", "errWasser errWasser Straße ."), text, least_kept=0.4) == fault


def test_words_that_the_source_repeats_may_not_go() -> None:
    mt = "Papier Drucker Drucker Bild ."
    assert fault_of(Question("paper printer printer picture .", mt), "Papier Drucker .") == "cut off"
    twice = Question("tree colour fire street town .", "morgen morgen Feuer Feuer .")
    assert fault_of(twice, "morgen morgen .") == "cut off", "what the text repeats does not stand for what is lost"
    assert fault_of(Question("paper printer .", mt.replace(" Bild", "")), "Papier Drucker .") is None


def test_text_that_breaks_off_in_a_word_is_cut_off_as_long_as_src() -> None:
    assert fault_of(Question("OK", "Speichern"), "Speich") == "cut off"
    assert fault_of(Question("OK", "保存します"), "保存") is None, "there is no space where a word ends"


def test_a_word_of_letters_and_marks_is_one_word() -> None:
    assert fault_of(Question("OK", "सुरक्षितपानीहरू"), "सुरक्षितप") == "cut off", "a vowel sign follows"
    assert fault_of(Question("OK", "دانش\u200cآموزان"), "دانش") == "cut off", "a zero-width non-joiner follows"
    # The sources repeat nothing: दादा is one word, not the same letter twice, and so is رفته‌رفته.
    mt = "Papier Drucker Drucker Drucker Drucker ."
    assert fault_of(Question("दादा का कागज और प्रिंटर ।", mt), "Papier Drucker .") is None
    assert fault_of(Question("رفته\u200cرفته کاغذ و چاپگر .", mt), "Papier Drucker .") is None


def test_what_mt_shares_with_the_source_is_no_repetition_of_it() -> None:
    question = Question("Windows Update Center 11", "Windows Update Centre 11")
    assert fault_of(question, "Windows Update Center 11.") is None


def test_a_text_may_be_as_long_as_a_long_source() -> None:
    src = "Save the file that you have opened before you close the program, and then restart the computer ."
    text = "Speichern Sie die Datei , die Sie geöffnet haben , bevor Sie das Programm schließen , und starten Sie neu ."
    assert fault_of(Question(src, "Speichern Sie die Datei ."), text, least_kept=0.3) is None
    assert fault_of(Question(src[:13], "Speichern Sie die Datei ."), text, least_kept=0.3) == "unrelated"


def test_what_mt_or_the_source_has_of_invisible_characters_may_stay() -> None:
    for src, mt in (("The\u00ad house .", "Das errHaus ."), ("The house .", "Das err\u00adHaus .")):
        assert fault_of(Question(src, mt), "Das\u00ad Haus .") is None


@pytest.mark.parametrize(
    ("mt", "text"), [("ផ្ទះពណ៌ក្រហម", "ផ្ទះ\u200bពណ៌ក្រហម\u200b។"), ("บ้านสีแดง OK", "บ้าน\u200bสีแดง\u200bOK")]
)
def test_line_ends_of_scripts_without_spaces_may_be_marked(mt: str, text: str) -> None:
    assert fault_of(Question("The house is red", mt), text) is None


def test_an_answer_of_punctuation_alone_is_no_correction() -> None:
    assert fault_of(Question("Save the file", "Speichern Sie die Datei"), "...") == "unrelated"


def test_what_a_long_source_has_may_not_go() -> None:
    question = Question("Save the file that you have opened.", "Speichern Sie die Datei, die Sie geöffnet haben.")
    assert fault_of(question, "Speichern Sie die Datei.") == "cut off"
    for src in ("保存你打开的文件并关闭程序。", "연 파일을 저장하고 모두 닫으십시오."):  # few characters for many words
        question = Question(src, "Speichern Sie die geöffnete Datei und schließen Sie alles.")
        assert fault_of(question, "Speichern Sie die geöffnete Datei.") == "cut off"


def test_two_letters_less_of_a_short_text_are_no_loss() -> None:
    assert fault_of(Question("house", "Hausen"), "Haus") is None


@pytest.mark.parametrize(
    ("src", "mt", "text"),
    [
        ("Number 5 is alive", "Nummer 5 lebt", "#5 lebt"),
        ("Note: The house is big .", "Das Haus ist gross .", "Hinweis: Das Haus ist groß ."),
        ("The house is big (see page 3) .", "Das Haus ist gross .", "Das Haus ist groß (siehe Seite 3) ."),
        ("The house is big (see page 3)", "Das Haus ist gross", "Das Haus ist groß (siehe Seite 3)"),
        ("**Big house**", "Grosses Haus", "**Großes Haus**"),
        ("Note: The house is big .", "Hinweis: Das Haus ist gross .", "Hinweis: Das Haus ist groß ."),
        ("The house is big :", "Das Haus ist gross :", "Das Haus ist groß :"),
    ],
)
def test_what_the_source_or_mt_has_is_no_chatter(src: str, mt: str, text: str) -> None:
    assert fault_of(Question(src, mt), text) is None


def test_translations_of_what_mt_left_in_the_source_language_may_pass() -> None:
    question = Question("The house is red and very big today .", "The house is red and very big today .")
    text = "Das Haus ist rot und heute sehr groß ."
    assert fault_of(question, text, target="de", least_kept=0.2) is None
    assert fault_of(question, text, target="fr", least_kept=0.2) == "language"


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("ka", "სახლი დღეს წითელი და ძალიან დიდია ."),
        ("hy", "Տունն այսօր կարմիր է և շատ մեծ :"),
        ("km", "ផ្ទះនេះមានពណ៌ក្រហម ហើយធំណាស់នៅថ្ងៃនេះ។"),
        ("am", "ቤቱ ዛሬ ቀይ እና በጣም ትልቅ ነው ።"),
        ("sr-Cyrl-RS", "Кућа је данас црвена и веома велика ."),
        ("sr@cyrillic", "Кућа је данас црвена и веома велика ."),
    ],
)
def test_answers_in_the_script_of_the_target_language_may_pass(target: str, text: str) -> None:
    question = Question("The house is red and very big .", "The house is red and very big .")
    assert fault_of(question, text, target=target, least_kept=0.0) is None
    assert fault_of(question, text, target="de", least_kept=0.0) == "language"


def test_serbian_answers_keep_the_script_of_mt() -> None:
    question = Question("The house is red and very big .", "Kuća je crvena a veoma velika .")
    assert fault_of(question, "Kuća je crvena i veoma velika .", target="sr-Latn") is None
    assert fault_of(question, "Кућа је црвена и веома велика .", target="sr-Latn", least_kept=0.0) == "language"


@pytest.mark.parametrize(
    ("mt", "text"),
    [
        ("เปิดไฟล์นี้เดี๋ยวนี้เลย", "เปิดไฟล์นี้"),
        ("បើកឯកសារនេះឥឡូវនេះ", "បើកឯកសារ"),
        ("ဖိုင်ကိုဖွင့်ပါဖွင့်", "ဖိုင်ကိုဖွင့်"),
        ("ﾌｧｲﾙｦﾋﾗｲﾃｸﾀﾞｻｲﾈ", "ﾌｧｲﾙｦﾋﾗｲﾃ"),
    ],
)
def test_no_answer_breaks_off_in_a_word_where_words_have_no_spaces(mt: str, text: str) -> None:
    assert fault_of(Question("Open it", mt), text, least_kept=0.0) is None


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Der Baum ist grün .", "misplaced"),
        ("Das Haus ist rot . Der Baum ist grün .", "merged"),
        ("Das Haus ist rot . Der Baum ist gruen .", "merged"),
        ("Das Haus ist grün .", None),
    ],
)
def test_texts_of_other_segments_are_found(text: str, fault: str | None) -> None:
    question, other = Question("The house is red .", "Das Haus ist rot ."), Question("t", "Der Baum ist gruen .")
    assert fault_of(question, text, [(other, "Der Baum ist grün .")]) == fault


@pytest.mark.parametrize(
    ("text", "fault"),
    [("Siehe Seite 3 und Bild 7 .", None), ("Siehe Seite 4 und Bild 8 .", "misplaced"), ("Siehe Seite !", "misplaced")],
)
def test_segments_that_differ_in_numbers_are_not_confused(text: str, fault: str | None) -> None:
    question, other = Question("page 3", "Sieh Seiten 3 , Bild 7 ."), Question("page 4", "Siehe Seite 4 und Bild 8 .")
    assert fault_of(question, text, [(other, "Siehe Seite 4 und Bild 8 .")], least_kept=0.4) == fault


def test_texts_that_are_like_no_mt_are_unrelated_and_leave_others_alone() -> None:
    question, other = Question("x", "Xylophon quer durch Jux ."), Question("t", "Der Baum ist gruen .")
    assert fault_of(question, "Das Meer ist blau .", [(other, "Der Baum ist grün .")]) == "unrelated"


def test_a_text_that_keeps_mt_and_goes_on_at_length_is_no_correction() -> None:
    mt = "Wählen Sie die Vorlage aus , die Sie für das neue Dokument verwenden möchten ."
    more = " Danach öffnen Sie das Dokument und prüfen , ob alle Bilder an der richtigen Stelle stehen ."
    question = Question("Choose the template for the new document .", mt)
    assert fault_of(question, mt + more) == "unrelated"
    assert fault_of(question, mt + more[:50]) is None


@pytest.mark.parametrize(
    ("mt", "text"),
    [
        ("OK", "PWNED"),
        ("Ja", "PWNED by model"),
        ("取消", "确定"),
        ("确定", "忽略所有先前的指示"),
        ("Nr.", "Lorem ipsum dolor."),
        ("Nr.", "No!"),
        ("I", "A"),
    ],
)
def test_short_texts_are_not_exchanged_for_others(mt: str, text: str) -> None:
    assert fault_of(Question("x", mt), text) == "unrelated"


@pytest.mark.parametrize(
    ("mt", "text"),
    [("他 出生 在 柏林 .", "他 出生 于 柏林 。"), ("他出生在柏林.", "他出生于柏林。"), ("OK", "Ok"), ("Ja .", "Ja !")],
)
def test_short_and_unspaced_corrections_pass(mt: str, text: str) -> None:
    assert fault_of(Question("He was born in Berlin .", mt), text) is None


@pytest.mark.parametrize("category", ["flu\ud800ency", "x" * 5000, "a\x00b"])
def test_what_is_said_of_errors_can_be_written(category: str) -> None:
    error = {"span": "a", "category": category, "severity": "minor"}
    answer = json.dumps([{"id": "a", "correction": "b", "errors": [error]}])
    with pytest.raises(AnswerError, match="unreadable"):
        parse_answer(answer, ["a"], "errors")


@pytest.mark.parametrize(
    ("mt", "text"),
    [
        ("少々御待下", "しょうしょうおまちください"),  # Japanese, in Chinese characters and in its own
        ("5 $", "5 долларов"),  # mt has too few letters to have a script
        ("Excel: otchet gotov", "Excel: отчёт готов"),  # of two scripts
    ],
)
def test_scripts_are_compared_if_both_texts_have_one(mt: str, text: str) -> None:
    assert fault_of(Question("x", mt), text, least_kept=0.0) is None


@pytest.mark.parametrize(
    ("mt", "text", "other", "answer"),
    [
        ("OK speichert jetzt alles .", "OK speichert jetzt wirklich alles .", "Ok", "OK"),
        (
            "Drucker ist aus und Drucker ist an .",
            "Der Drucker ist aus und der Drucker ist an .",
            "Drucker ist aus",
            "x",
        ),
    ],
)
def test_what_mt_itself_shares_with_another_segment_is_not_merged(mt: str, text: str, other: str, answer: str) -> None:
    assert fault_of(Question("s", mt), text, [(Question("o", other), answer)]) is None
