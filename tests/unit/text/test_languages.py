"""Telling the language of texts."""

import pytest

from postedit.text.languages import known_languages, language_identifier, ranked_languages, scripts_of

GERMAN = "Klicken Sie auf die Schaltfläche, um das Dokument zu speichern."


def test_most_probable_language_comes_first() -> None:
    ranked = ranked_languages([GERMAN])
    assert ranked[0][0] == "de"
    assert sorted(code for code, _ in ranked) == list(known_languages())
    scores = [score for _, score in ranked]
    assert scores == sorted(scores, reverse=True)


def test_choice_among_languages_leaves_other_identifiers_as_they_are() -> None:
    assert language_identifier(["fr", "en"]).classify(GERMAN)[0] in ("fr", "en")
    assert language_identifier().classify(GERMAN)[0] == "de"
    assert [code for code, _ in language_identifier(["fr", "de"]).rank(GERMAN)] == ["de", "fr"]


@pytest.mark.parametrize("among", [(), ("de", "en", "fr")])
def test_shares_add_up_to_1(among: tuple[str, ...]) -> None:
    shares = dict(language_identifier(among, probabilities=True).rank(GERMAN))
    assert sum(shares.values()) == pytest.approx(1.0, abs=1e-4)
    assert max(shares, key=shares.__getitem__) == "de"


@pytest.mark.parametrize(
    ("tag", "scripts"),
    [
        ("ru-RU", {"CYRILLIC"}),
        ("yo", {"LATIN"}),
        ("zh-TW", {"CJK"}),
        ("sr-Latn", {"LATIN"}),
        ("sr_RS@cyrillic", {"CYRILLIC"}),
        ("pa-Arab", {"ARABIC"}),
        ("sr", set()),
        ("", set()),
    ],
)
def test_scripts_are_those_of_the_tag_or_else_of_the_language(tag: str, scripts: set[str]) -> None:
    assert scripts_of(tag) == scripts
