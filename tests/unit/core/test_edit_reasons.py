import json
from datetime import UTC, datetime

from postedit.core.edit_reasons import (
    CitedWord,
    CorrectionReason,
    NamedCorrection,
    SourceReason,
    TrainingExample,
    TrainingReason,
    reasons_as_json,
    reasons_of_json,
)

REASONS = (
    CorrectionReason(
        3, 1, 0, (NamedCorrection(17, "s", "m", "p", "anna", datetime(2026, 11, 3, tzinfo=UTC)), NamedCorrection(4))
    ),
    CorrectionReason(1, 0, 0, (NamedCorrection(2),), same_segment=True),
    TrainingReason(41, 3, 0, (TrainingExample("der Haus", "das Haus"),)),
    SourceReason((CitedWord("house", (4, 9)), CitedWord("red", (0, 3), 1.25))),
)


def test_reasons_survive_json() -> None:
    assert reasons_of_json(json.loads(json.dumps(reasons_as_json(REASONS)))) == REASONS


def test_values_for_json_have_the_names_that_a_client_reads() -> None:
    correction, _, training, source = reasons_as_json(REASONS)
    assert (correction["kind"], correction["count"], correction["left"]) == ("correction", 3, 1)
    assert correction["corrections"][0] == {
        "number": 17,
        "src": "s",
        "mt": "m",
        "pe": "p",
        "author": "anna",
        "made": "2026-11-03T00:00:00+00:00",
    }
    assert training["examples"] == [{"before": "der Haus", "after": "das Haus"}]
    assert (training["kind"], training["made"], training["kept"]) == ("training", 41, 3)
    assert source["words"] == [
        {"text": "house", "span": [4, 9]},
        {"text": "red", "span": [0, 3], "nats": 1.25},
    ]
