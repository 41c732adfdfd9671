"""A real small model grades: whatever it replies is counted, and its grades are of known passages."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from secondlook.memory import Caps, Ledger, MemoryJournal
from secondlook.models import Models
from secondlook.nodes.grading import probe
from secondlook.nodes.grading.labelled import answer_cases, passage_cases
from secondlook.settings import load
from tests.support.gguf_models import smollm2

if TYPE_CHECKING:
    from secondlook.models.probe_store import GradingFigures


def measured() -> tuple[GradingFigures, GradingFigures, int]:
    models = Models(load({"models.default": f"gguf:{smollm2()}"}).settings)
    ledger = Ledger(Caps())
    asker = models.asker(run="probe", workflow="", ledger=ledger, journal=MemoryJournal())

    async def measure() -> tuple[GradingFigures, GradingFigures]:
        try:
            return await probe.probe_passages(asker), await probe.probe_answers(asker)
        finally:
            await models.aclose()

    passages, answers = asyncio.run(measure())
    return passages, answers, ledger.usage().calls


def test_a_small_model_is_found_unfit(monkeypatch: pytest.MonkeyPatch) -> None:
    """One question of the set and two answers are enough to see that it works; it is held to the
    form, so that each passage has a grade, and too small for the grades to be good."""
    monkeypatch.setattr(probe, "passage_cases", lambda: passage_cases()[:1])
    monkeypatch.setattr(probe, "answer_cases", lambda: answer_cases()[:2])
    passages, answers, calls = measured()
    assert (passages.pairs, answers.pairs) == (6, 2)
    assert (passages.ungraded, answers.ungraded) == (0, 0)
    assert not passages.fit
    assert 3 <= calls <= 6
