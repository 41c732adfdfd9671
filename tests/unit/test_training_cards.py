"""The cards that are shipped, and what a card may say."""

from __future__ import annotations

import pytest

import secondlook_weights
from secondlook.reading.weights import read_weights
from training.card import facts
from training.card_figures import beside_reader_12
from training.data.sources import SOURCES
from training.data.support import NLI_FILES

QUALITY = {
    "made": "2026-01-01",
    "readers": {"shipped": "reader-2@0123456789ab/8", "reader-12": "reader-12@ba9876543210/all"},
    "answers": {
        "f1": {
            "shipped": {"value": 0.84, "low": 0.83, "high": 0.85},
            "reader-12": {"value": 0.82, "low": 0.81, "high": 0.83},
        }
    },
    "calibration": {
        "all": {
            "shipped": {"ece_mean": 0.03, "questions": 10},
            "reader-12": {"ece_mean": 0.04, "questions": 10},
        }
    },
}


@pytest.mark.parametrize("model", secondlook_weights.MODELS)
def test_a_card_says_what_the_manifest_says(model: secondlook_weights.ModelName) -> None:
    folder = secondlook_weights.path(model)
    card = (folder / "card.md").read_text("utf-8")
    assert card.startswith(f"# {read_weights(folder).name}, int8\n")
    assert facts(folder) in card
    for heading in ("Intended use", "Limits", "Licence", "Trained on|Made from"):
        assert any(f"## {name}" in card for name in heading.split("|"))


def test_every_source_of_claims_has_its_licence() -> None:
    assert {name.rsplit("_", 1)[0] for name in NLI_FILES} <= SOURCES.keys()


def test_figures_of_another_reader_are_not_taken() -> None:
    assert beside_reader_12(QUALITY, "reader-3@0123456789ab").startswith("Not measured")
    assert beside_reader_12({}, "reader-2@0123456789ab").startswith("Not measured")
