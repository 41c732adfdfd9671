"""A real small model grades: it is held to the form, and whatever it says is counted."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from secondlook.models.budget import Ledger
from secondlook.models.calls import Models
from secondlook.models.journal import MemoryJournal
from secondlook.models.prices import Caps
from secondlook.nodes import probe
from secondlook.roles.verdicts import PassageCase, answer_cases, passage_cases
from secondlook.settings import load
from tests.support.gguf_models import smollm2

if TYPE_CHECKING:
    import pytest

    from secondlook.models.probe import GradingFigures


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


def test_a_small_model_can_be_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three passages and an answer are enough to see that it works: a grade for each of them."""
    case = passage_cases()[0]
    few = case.passages[:3]
    relevant = case.relevant & {passage.id for passage in few}
    small = PassageCase(case.question, few, relevant)
    monkeypatch.setattr(probe, "passage_cases", lambda: (small,))
    monkeypatch.setattr(probe, "answer_cases", lambda: answer_cases()[:1])
    passages, answers, calls = measured()
    assert (passages.pairs, answers.pairs) == (3, 1)
    assert (passages.ungraded, answers.ungraded) == (0, 0)
    assert passages.fit is (passages.precision == 1.0 and passages.recall == 1.0)
    assert calls == (3 if passages.few_shot else 2)
