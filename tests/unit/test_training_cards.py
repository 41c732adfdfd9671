"""The cards that are shipped, and what a card may say."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import secondlook_weights
from secondlook.reading.weights import read_weights
from training.card import facts, main, trained_on
from training.card_figures import LISTED, beside_reader_12, listed
from training.data.sources import SOURCES
from training.data.support import NLI_FILES

if TYPE_CHECKING:
    from pathlib import Path

MOST_BYTES = 95_000_000
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


def test_the_weights_stay_small() -> None:
    folders = [secondlook_weights.path(model) for model in secondlook_weights.MODELS]
    sizes = [file.stat().st_size for folder in folders for file in folder.rglob("*")]
    assert sum(sizes) <= MOST_BYTES


def test_every_source_of_claims_has_its_licence() -> None:
    assert {name.rsplit("_", 1)[0] for name in NLI_FILES} <= SOURCES.keys()


def test_rows_are_counted_by_set() -> None:
    table = trained_on(
        {
            "questions": {"squad": 1200},
            "claims": {"own: stated": {"supported": 3, "not": 0}, "own: negated": {"not": 4}},
            "unanswerable": {"negated": 5, "near miss": 6},
        }
    )
    assert "| SQuAD 1.1, training part | 1,200 |" in table
    assert "changed by code | 7 |" in table
    assert "11 rows were added" in table


def test_figures_stand_beside_those_of_reader_12() -> None:
    table = beside_reader_12(QUALITY, "reader-2@0123456789ab")
    assert "| answers, f1 | 0.840 | 0.820 |" in table
    assert "| calibration, all ece | 0.030 | 0.040 |" in table


def test_figures_of_another_reader_are_not_taken() -> None:
    assert beside_reader_12(QUALITY, "reader-3@0123456789ab").startswith("Not measured")
    assert beside_reader_12({}, "reader-2@0123456789ab").startswith("Not measured")


def test_speed_is_told_of_this_very_reader() -> None:
    found = {
        "speed": {
            "readers": {"shipped": "reader-2@0123456789ab"},
            "shipped, 8 looks": {"passages_per_second": 50.0, "share_of_peak": 0.5},
            "times_as_fast": {"shipped / given at its best": 1.75},
        }
    }
    table = listed(found, "reader-2@0123456789ab", LISTED[0])
    assert "| speed, shipped, 8 looks, passages per second | 50.000 |" in table
    assert "shipped / given at its best | 1.750 |" in table
    assert "peak" not in table
    assert "not measured" in listed(found, "reader-3@0123456789ab", LISTED[0])


def test_a_reader_of_unknown_making_gets_no_card(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps({}), "utf-8")
    assert main(["reader", "--folder", str(tmp_path)]) == 1
    assert "no recipe.json" in capsys.readouterr().err
