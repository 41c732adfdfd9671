"""The checks with the embedded models, on the sample documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from secondlook.nodes.answer import answer_anew
from secondlook.nodes.check import check_grounded, check_useful, shipped_head
from tests.support.checking import draft, found, sentence, visit
from tests.support.engine import context_of, settings_of

if TYPE_CHECKING:
    from secondlook.library.library import Library
    from secondlook.nodes.context import Context

QUESTION = "How thick is the sheet piling of the south quay?"
BESIDES = "The council meets on the first Tuesday of the month."


@pytest.fixture
def context(samples: Library) -> Context:
    return context_of(shelf=samples.shelf(), question=QUESTION)


def test_the_readers_own_answer_passes_both_checks(context: Context) -> None:
    passages = found(context, QUESTION)
    made = visit(answer_anew, context, question=QUESTION, found=passages)["draft"]
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


def test_likeness_is_the_cosine_of_the_librarys_own_embedder(samples: Library) -> None:
    same, near, far = samples.shelf().similarity(
        [
            (QUESTION, QUESTION),
            (QUESTION, "The sheet piles of the south quay are 9.5 millimetres thick."),
            (QUESTION, BESIDES),
        ]
    )
    assert same == pytest.approx(1.0, abs=1e-3)
    assert same > near > far


def test_a_draft_judged_by_likeness(samples: Library) -> None:
    chosen = settings_of(corrective={"grounded_judge": "similarity"})
    context = context_of(shelf=samples.shelf(), question=QUESTION, settings=chosen)
    passages = found(context, QUESTION)
    first = passages[0]
    place = {"passage": first["id"], "start": first["start"], "end": first["end"]}
    made = draft(sentence("The piling is thick at the quay.", place, support=0.1, supported=False))  # type: ignore[arg-type]
    update = visit(check_grounded, context, question=QUESTION, draft=made, complaints=[])
    assert update["draft"]["sentences"][0]["supported"] is True
    assert update["draft"]["sentences"][0]["support"] > 0.65
