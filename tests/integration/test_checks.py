"""The checks with the embedded models, on the sample documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from secondlook.nodes.answer import answer_anew
from secondlook.nodes.check import check_grounded, check_useful, shipped_head
from tests.support.checking import draft, found, sentence, visit
from tests.support.engine import context_of

if TYPE_CHECKING:
    from secondlook.library.library import Library
    from secondlook.nodes.context import Context

QUESTION = "How thick is the sheet piling of the south quay?"
BESIDES = "The council meets on the first Tuesday of the month."


@pytest.fixture
def context(samples: Library) -> Context:
    return context_of(shelf=samples.shelf(), question=QUESTION)


def test_the_readers_own_answer_passes_both_checks(context: Context) -> None:
    made = visit(answer_anew, context, question=QUESTION, found=found(context, QUESTION))["draft"]
    assert "9.5 millimetres" in made["short"]
    grounded = visit(check_grounded, context, question=QUESTION, draft=made, complaints=[])
    assert (grounded["route"], grounded["complaints"]) == ("check_useful", [])
    useful = visit(check_useful, context, question=QUESTION, draft=made)
    assert (useful["route"], useful["drafts"][0]["is_useful"]) == ("settle", True)


def test_a_sentence_about_something_else_is_not_useful(context: Context) -> None:
    update: dict[str, Any] = visit(
        check_useful, context, question=QUESTION, draft=draft(sentence(BESIDES))
    )
    assert update["drafts"][0]["useful"] < shipped_head().threshold
    assert update["route"] == "rewrite"
