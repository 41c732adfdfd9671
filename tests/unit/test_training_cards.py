"""The cards that are shipped, and what a card may say."""

from __future__ import annotations

import pytest

import secondlook_weights
from secondlook.reading.weights import read_weights
from training.card import facts
from training.data.sources import SOURCES
from training.data.support import NLI_FILES


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
