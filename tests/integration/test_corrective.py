"""`corrective` over a real index with the embedded models: the cases in which a search or an answer
goes wrong, each with what the run did about it. Only the chat model is a double."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.engine.secondlook import Conversation, Secondlook
from secondlook.library.library import Library
from secondlook.models.calls import Models
from secondlook.nodes import grade
from secondlook.settings.sections import Settings
from secondlook.verify import verify
from tests.support.corrective import Scripted, grades, sentence_with, verdicts
from tests.support.corrective_texts import (
    ABSENT,
    ALBUM,
    BIRTH,
    GROUP,
    WALL,
    WHO_PAID,
    write_notes,
    write_texts,
)
from tests.support.engine import settings_of
from tests.support.function_model import no_pause
from tests.support.web_site import Site

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secondlook.answer import Answer
    from secondlook.models.chat import ChatRequest

BEGIN = ["split", "retrieve", "rerank", "follow", "grade"]
CHECKED = ["answer", "check_grounded", "check_useful"]
END = ["settle", "finish"]
AGAIN = ["rewrite", "search_again", "grade"]
WRITTEN = ["answer", "check_grounded"]
ANSWERED = ("answered", "answered", False)
NO_PROGRESS = ("abstained", "no_progress", True)
INVENTED = "The sea wall was built by Napoleon in 1804 [1]."


def honest(words: str) -> Any:
    """Writes the sentence of its evidence that has these words."""
    return lambda request: sentence_with(request, words)


def graded(grade: Any) -> Any:
    return lambda request: grades(request, grade)


def agreeing(request: ChatRequest) -> str:
    return verdicts(request, "yes")


def asked_part(request: ChatRequest) -> str:
    words = "born in 1981" if "birth" in request.messages[-1].content[:60] else "in 2004"
    return sentence_with(request, words)


@dataclass(frozen=True, slots=True)
class Case:
    question: str
    replies: dict[str, Any]
    """Of the model, by node."""
    nodes: list[str]
    asked: list[str]
    """Nodes that asked the model."""
    ended: tuple[str, str, bool] = ANSWERED
    corrective: dict[str, Any] = field(default_factory=dict)
    says: str = ""


BATCH = {"grader": "llm-batch"}
JUDGED = {**BATCH, "grounded_judge": "llm", "useful_judge": "llm"}
WALL_ALONE = graded(lambda text: "answers" if "sea wall" in text else "no")
SUBMARINE = "submarine Calypso engine type"
CASES = {
    "the reader grades: one call": Case(
        WALL, {"answer": honest("sea wall")}, [*BEGIN, *CHECKED, *END], ["answer"], says="640"
    ),
    "models grade and judge, who are asked where the reader is unsure": Case(
        WALL,
        {"answer": honest("sea wall"), "grade": WALL_ALONE},
        [*BEGIN, *CHECKED, *END],
        ["grade", "answer"],
        corrective=JUDGED,
    ),
    "the reader is unsure": Case(
        "Why is the sea wall so long?",
        {
            "answer": honest("sea wall"),
            "grade": graded("answers"),
            "check_grounded": agreeing,
            "check_useful": agreeing,
        },
        [*BEGIN, *CHECKED, *END],
        ["grade", "answer", "check_useful"],
        corrective=JUDGED,
    ),
    "parts by a model, arithmetic by code": Case(
        BIRTH,
        {"answer": asked_part},
        ["split", "ask_part", "ask_part", "combine", *END],
        ["answer", "answer"],
        says="23 years",
    ),
    "all graded as irrelevant: the best has to do": Case(
        WALL,
        {"grade": graded("no"), "rewrite": "sea wall length", "answer": honest("sea wall")},
        [*BEGIN, *AGAIN, *CHECKED, *END],
        ["grade", "rewrite", "answer"],
        corrective=BATCH,
    ),
    "a grader that says yes to everything": Case(
        ABSENT,
        {
            "grade": graded("answers"),
            "answer": "The submarine Calypso has a diesel engine [1].",
            "rewrite": SUBMARINE,
        },
        [*BEGIN, *WRITTEN, *WRITTEN, *WRITTEN, "check_useful", *AGAIN, *END],
        ["grade", "answer", "answer", "answer", "rewrite"],
        NO_PROGRESS,
        BATCH,
    ),
    "a grader that replies garbage, and is corrected once": Case(
        WALL,
        {"grade": "Sure! All of these are very relevant.", "answer": honest("sea wall")},
        [*BEGIN, *CHECKED, *END],
        ["grade", "grade", "answer"],
        corrective=BATCH,
    ),
    "never grounded: the reader's answer": Case(
        WALL,
        {"answer": INVENTED},
        [*BEGIN, *WRITTEN, *WRITTEN, *WRITTEN, "check_useful", *END],
        ["answer", "answer", "answer"],
    ),
    "grounded the second time": Case(
        WALL,
        {"answer": [INVENTED, honest("sea wall")]},
        [*BEGIN, *WRITTEN, *CHECKED, *END],
        ["answer", "answer"],
    ),
    "beside the point: given as the best there is": Case(
        WALL,
        {"answer": honest("born in 1981"), "rewrite": "sea wall Orsk Bay length"},
        [*BEGIN, *CHECKED, *AGAIN, *END],
        ["answer", "rewrite"],
        ("partial", "no_progress", True),
        says="may not be what was asked",
    ),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    folder = tmp_path_factory.mktemp("corrective")
    (folder / "texts").mkdir()
    settings = Settings.model_validate({"library": {"path": folder / "library"}})
    with Library.open(settings=settings) as made:
        made.add([write_texts(folder / "texts")])
        yield made


def opened(library: Library, model: Scripted | None = None, **sections: Any) -> Secondlook:
    given = {"library": {"path": library.path}, "runs": {"keep": 0}, **sections}
    if model is not None:
        given["models"] = {"default": model.spec, "retries": 0}
    settings = settings_of(**{"answer": {"workflow": "corrective"}, **given})
    chat: Any = model
    models = Models(settings, open_chat=lambda _: chat, probes=lambda _: None, pause=no_pause)
    return Secondlook(library, settings=settings, models=models)


def nodes(answer: Answer) -> list[str]:
    return [step.node for step in answer.steps]


def ended(answer: Answer) -> tuple[str, str, bool]:
    return answer.status, answer.stop_reason, answer.needs_review


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_goes_wrong_is_put_right_in_so_many_steps_and_calls(
    library: Library, case: Case
) -> None:
    model = Scripted(**case.replies)
    answer = opened(library, model, corrective=case.corrective).ask(case.question)
    assert (ended(answer), nodes(answer)) == (case.ended, case.nodes)
    assert (model.asked, answer.usage.calls) == (case.asked, len(case.asked))
    assert case.says in f"{answer.short} {answer.text}"
    assert "Napoleon" not in answer.text
    assert verify(answer, library) == []


def test_each_new_draft_is_told_what_was_wrong_at_another_temperature(library: Library) -> None:
    model = Scripted(answer=INVENTED)
    answer = opened(library, model).ask(WALL)
    assert (answer.method, answer.model, answer.regenerations) == ("extractive", None, 2)
    heats = [request.temperature for request in model.requests]
    assert heats == sorted(set(heats))
    assert "built by Napoleon" in model.requests[1].messages[-1].content


@pytest.mark.parametrize(
    "said", ["640 metres [1]", "**640 metres** [1].", "Laut Text ist die Antwort: 640 metres [1]."]
)
def test_a_bare_answer_of_a_model_is_given_and_verified(library: Library, said: str) -> None:
    answer = opened(library, Scripted(answer=said)).ask(WALL)
    assert (ended(answer), answer.method) == (ANSWERED, "generative")
    assert "640 metres" in answer.text
    assert answer.claims[0].answers
    assert verify(answer, library) == []
    other = answer.claims[0].model_copy(update={"text": "1,640 metres"})
    told = {"claims": (other,), "text": answer.text.replace("640", "1,640"), "short": None}
    assert {one.kind for one in verify(answer.model_copy(update=told), library)} >= {"number"}


def test_a_pronoun_is_asked_back(library: Library) -> None:
    talk = Conversation(opened(library))
    answer = talk.ask(GROUP)
    assert ended(answer) == ("partial", "ambiguous", False)
    assert nodes(answer) == [*BEGIN, "readings", *END]
    assert answer.asks_back == 'Whom do you mean by "she": Ilva Marr or Tessa Quill?'
    assert [claim.text[:10] for claim in answer.claims] == ["Ilva Marr ", "Tessa Quil"]
    assert all(claim.citations for claim in answer.claims)
    answer = talk.ask("Tessa Quill")
    assert (ended(answer), answer.short) == (ANSWERED, "2013")


def test_a_vague_term_is_taken_for_what_the_evidence_speaks_of(library: Library) -> None:
    answer = opened(library, Scripted(answer=honest("May 2003"))).ask(ALBUM)
    assert (ended(answer), answer.assumed) == (ANSWERED, "this album = Harbour Glass")
    assert nodes(answer) == [*BEGIN, "readings", "grade", *CHECKED, *END]
    assert (answer.usage.calls, answer.attempts) == (1, 1)


def test_three_retries_without_an_answer_are_all(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each brings something new about the question, so each may be followed by another."""
    folder = tmp_path_factory.mktemp("notes")
    (folder / "texts").mkdir()
    settings = Settings.model_validate({"library": {"path": folder / "library"}})
    ways = ["map", "bell", "clock"]
    queries = [f"who paid ledger coast {word}" for word in ways]
    found = [graded(lambda text, way=way: "about" if way in text else "no") for way in ways]
    model = Scripted(rewrite=queries, grade=[graded("no"), *found], answer="NOT IN THE EVIDENCE")
    chosen = {"search": {"candidates": 5}, "corrective": BATCH}
    monkeypatch.setattr(grade, "MIN_RELEVANT", 100)
    with Library.open(settings=settings) as notes:
        notes.add([write_notes(folder / "texts")])
        answer = opened(notes, model, **chosen).ask(WHO_PAID)
    assert ended(answer) == ("abstained", "attempts_exhausted", True)
    assert nodes(answer) == [*BEGIN, *AGAIN, *AGAIN, *AGAIN, *CHECKED, *END]
    assert answer.queries == (WHO_PAID, *queries)
    assert (answer.usage.calls, answer.attempts) == (8, 4)


LIGHTHOUSE = "How high is the tallest lighthouse of the cape?"


def test_the_web_is_asked_only_if_allowed_and_once_the_library_has_no_other_way(
    library: Library,
) -> None:
    with Site() as site:
        site.offer("/article")
        answer = opened(library).ask(LIGHTHOUSE)
        assert ended(answer)[1] in {"no_evidence", "no_progress"}
        assert site.requests == []
        web = {"enable_web_search": True, "url": site.url(), "allow_private": True}
        words = "height tallest lighthouse cape metres"
        model = Scripted(rewrite=words, answer=honest("43 metres"))
        answer = opened(library, model, web=web).ask(LIGHTHOUSE)
        visited = [node for node in nodes(answer) if node != "quarantine"]  # of a page's orders
        assert visited == [*BEGIN, *AGAIN, "search_web", "grade", *CHECKED, *END]
        assert (ended(answer), answer.web_used) == (ANSWERED, True)
        assert (answer.citations[0].origin, model.asked) == ("web", ["rewrite", "answer"])
        site.offer("/missing")
        answer = opened(library, Scripted(rewrite=words), web=web).ask(LIGHTHOUSE)
        assert (ended(answer), answer.web_used) == (NO_PROGRESS, False)
        told = {warning.consequence for warning in answer.warnings}
        assert "skipped: the answer rests on the library alone" in told
