"""`corrective` over a real index with the embedded models: the cases in which a search or an answer
goes wrong, each with what the run did about it. Only the chat model is a double."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.engine.secondlook import Conversation, Secondlook
from secondlook.library.library import Library
from secondlook.models.calls import Models
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
INVENTED = "The sea wall was built by Napoleon in 1804 [1]."
BESIDE_THE_POINT = "Ilva Marr was born in 1981 in Orsk Bay"
UNSURE = "Why is the sea wall of Orsk Bay so long?"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    folder = tmp_path_factory.mktemp("corrective")
    (folder / "texts").mkdir()
    settings = Settings.model_validate({"library": {"path": folder / "library"}})
    with Library.open(settings=settings) as made:
        made.add([write_texts(folder / "texts")])
        yield made


@dataclass(frozen=True, slots=True)
class Engines:
    """Engines over the same library, each with settings and a model of its own."""

    library: Library

    def open(self, model: Scripted | None = None, **sections: Any) -> Secondlook:
        given = {"library": {"path": self.library.path}, "runs": {"keep": 0}, **sections}
        if model is not None:
            given["models"] = {"default": model.spec, "retries": 0}
        settings = settings_of(**{"answer": {"workflow": "corrective"}, **given})
        chat: Any = model
        models = Models(settings, open_chat=lambda _: chat, probes=lambda _: None, pause=no_pause)
        return Secondlook(self.library, settings=settings, models=models)

    def ask(self, question: str, model: Scripted | None = None, **sections: Any) -> Answer:
        engine = self.open(model, **sections)
        return engine.ask(question)


@pytest.fixture
def engines(library: Library) -> Engines:
    return Engines(library)


def nodes(answer: Answer) -> list[str]:
    return [step.node for step in answer.steps]


def ended(answer: Answer) -> tuple[str, str, bool]:
    return answer.status, answer.stop_reason, answer.needs_review


def honest(words: str) -> Any:
    """Writes the sentence of its evidence that has these words."""
    return lambda request: sentence_with(request, words)


def graded(grade: str) -> Any:
    return lambda request: grades(request, grade)


BATCH = {"corrective": {"grader": "llm-batch"}}


# What it costs where nothing goes wrong


def test_with_the_reader_as_grader_a_good_answer_takes_one_call(engines: Engines) -> None:
    model = Scripted(answer=honest("sea wall"))
    answer = engines.ask(WALL, model)
    assert ended(answer) == ("answered", "answered", False)
    assert "640 metres" in answer.text
    assert nodes(answer) == [*BEGIN, *CHECKED, *END]
    assert (answer.usage.calls, model.asked) == (1, ["answer"])
    assert (answer.grounded.value, answer.useful.value) == ("yes", "yes")


def test_with_models_that_grade_and_judge_it_takes_three_at_most(engines: Engines) -> None:
    """The judges are asked only where the reader is unsure."""

    def judged(text: str) -> str:
        return "answers" if "sea wall" in text else "no"

    model = Scripted(answer=honest("sea wall"), grade=lambda request: grades(request, judged))
    answer = engines.ask(
        WALL,
        model,
        corrective={"grader": "llm-batch", "grounded_judge": "llm", "useful_judge": "llm"},
    )
    assert ended(answer) == ("answered", "answered", False)
    assert nodes(answer) == [*BEGIN, *CHECKED, *END]
    assert (answer.usage.calls, model.asked) == (2, ["grade", "answer"])


def test_a_judge_is_asked_where_the_reader_is_unsure(engines: Engines) -> None:
    """How long the wall is, where it was asked why."""
    model = Scripted(
        answer=honest("sea wall"),
        grade=graded("answers"),
        check_grounded=lambda request: verdicts(request, "yes"),
        check_useful=lambda request: verdicts(request, "yes"),
    )
    answer = engines.ask(
        UNSURE,
        model,
        corrective={"grader": "llm-batch", "grounded_judge": "llm", "useful_judge": "llm"},
    )
    assert ended(answer) == ("partial", "answered", False)
    assert nodes(answer) == [*BEGIN, *CHECKED, *END]
    assert (answer.usage.calls, model.asked) == (3, ["grade", "answer", "check_useful"])


# Questions that are not plain


def test_a_pronoun_is_resolved_by_the_conversation(engines: Engines) -> None:
    talk = Conversation(engines.open())
    talk.ask("When was Ilva Marr born?")
    answer = talk.ask(GROUP)
    assert answer.asked == "When did Ilva Marr leave her group?"
    assert ended(answer) == ("answered", "answered", False)
    assert (answer.short, answer.assumed, answer.usage.calls) == ("2009", None, 0)
    assert nodes(answer)[-len(BEGIN + CHECKED + END) :] == [*BEGIN, *CHECKED, *END]


def test_a_pronoun_alone_that_may_mean_two_is_told_for_both_and_asked_back(
    engines: Engines,
) -> None:
    answer = engines.ask(GROUP)
    assert ended(answer) == ("partial", "ambiguous", False)
    assert nodes(answer) == [*BEGIN, "readings", *END]
    assert answer.asks_back == 'Whom do you mean by "she": Ilva Marr or Tessa Quill?'
    assert [claim.text[:10] for claim in answer.claims] == ["Ilva Marr ", "Tessa Quil"]
    assert all(claim.citations for claim in answer.claims)
    assert (answer.assumed, answer.usage.calls) == (None, 0)


def test_the_reply_to_the_question_back_answers_it(engines: Engines) -> None:
    talk = Conversation(engines.open())
    assert talk.ask(GROUP).asks_back
    answer = talk.ask("Tessa Quill")
    assert ended(answer) == ("answered", "answered", False)
    assert answer.short == "2013"


def test_a_vague_term_is_taken_for_what_the_evidence_speaks_of(engines: Engines) -> None:
    model = Scripted(answer=honest("May 2003"))
    answer = engines.ask(ALBUM, model)
    assert ended(answer) == ("answered", "answered", False)
    assert answer.assumed == "the album = Harbour Glass"
    assert nodes(answer) == [*BEGIN, "readings", "grade", *CHECKED, *END]
    assert (answer.usage.calls, answer.attempts) == (1, 1)


def test_a_question_of_two_facts_is_computed_from_both(engines: Engines) -> None:
    answer = engines.ask(BIRTH)
    assert ended(answer) == ("answered", "answered", False)
    assert (answer.short, answer.method, answer.usage.calls) == ("23 years", "computed", 0)
    assert nodes(answer) == ["split", "ask_part", "ask_part", "combine", *END]
    computation = answer.claims[0].computation
    assert computation is not None
    assert [one.text for one in computation.operands] == ["1981", "2004"]
    assert (computation.operation, computation.result) == ("years", "23 years")
    assert [part.short for part in answer.parts] == ["1981", "2004"]
    assert verify(answer, engines.library) == []


def test_a_model_answers_the_parts_and_code_computes(engines: Engines) -> None:
    def part(request: ChatRequest) -> str:
        words = "born in 1981" if "born" in request.messages[-1].content[:60] else "in 2004"
        return sentence_with(request, words)

    model = Scripted(answer=part)
    answer = engines.ask(BIRTH, model)
    assert ended(answer) == ("answered", "answered", False)
    assert nodes(answer) == ["split", "ask_part", "ask_part", "combine", *END]
    assert (answer.short, model.asked) == ("23 years", ["answer", "answer"])
    assert verify(answer, engines.library) == []


# Searches that find too little


def test_a_rewrite_that_changes_nothing_is_refused(engines: Engines) -> None:
    model = Scripted(rewrite=ABSENT)
    answer = engines.ask(ABSENT, model)
    assert ended(answer) == ("abstained", "no_evidence", False)
    assert nodes(answer) == [*BEGIN, "rewrite", "grade", *END]
    assert (answer.usage.calls, model.asked) == (1, ["rewrite"])
    (step,) = (step for step in answer.steps if step.node == "rewrite")
    assert (step.numbers["rejected"], step.numbers["accepted"]) == ("repeat", False)


def test_where_a_model_grades_all_as_irrelevant_the_best_has_to_do(engines: Engines) -> None:
    model = Scripted(
        grade=graded("no"), rewrite="sea wall Orsk Bay length", answer=honest("sea wall")
    )
    answer = engines.ask(WALL, model, **BATCH)
    assert ended(answer) == ("answered", "answered", False)
    assert nodes(answer) == [*BEGIN, *AGAIN, *CHECKED, *END]
    assert (answer.usage.calls, model.asked) == (3, ["grade", "rewrite", "answer"])
    assert {seen.grade for seen in answer.passages} == {"irrelevant"}
    assert sum(seen.kept for seen in answer.passages) == 3


def test_where_all_is_irrelevant_and_nothing_near_it_is_withheld(engines: Engines) -> None:
    model = Scripted(grade=graded("no"), rewrite="submarine Calypso engine type")
    answer = engines.ask(ABSENT, model, **BATCH)
    assert ended(answer) == ("abstained", "no_progress", True)
    assert nodes(answer) == [*BEGIN, *AGAIN, *END]
    assert (answer.usage.calls, model.asked) == (2, ["grade", "rewrite"])


def test_three_retries_without_an_answer_are_all(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Each brings something new about the question, so each may be followed by another."""
    folder = tmp_path_factory.mktemp("notes")
    (folder / "texts").mkdir()
    settings = Settings.model_validate({"library": {"path": folder / "library"}})
    ways = ["map", "bell", "clock"]
    queries = [f"who paid ledger coast {word}" for word in ways]
    model = Scripted(
        rewrite=queries,
        grade=[graded("no"), *(_about(word) for word in ways)],
        answer="NOT IN THE EVIDENCE",
    )
    with Library.open(settings=settings) as notes:
        notes.add([write_notes(folder / "texts")])
        answer = Engines(notes).ask(
            WHO_PAID,
            model,
            search={"candidates": 5},
            corrective={"grader": "llm-batch", "min_relevant": 100},
        )
    assert ended(answer) == ("abstained", "attempts_exhausted", True)
    assert nodes(answer) == [*BEGIN, *AGAIN, *AGAIN, *AGAIN, *CHECKED, *END]
    assert answer.queries == (WHO_PAID, *queries)
    assert (answer.usage.calls, answer.attempts) == (8, 4)


def _about(word: str) -> Any:
    return lambda request: grades(request, lambda text: "about" if word in text else "no")


def test_a_grader_that_says_yes_to_everything_invents_no_answer(engines: Engines) -> None:
    model = Scripted(
        grade=graded("answers"),
        answer="The submarine Calypso has a diesel engine [1].",
        rewrite="submarine Calypso engine type",
    )
    answer = engines.ask(ABSENT, model, **BATCH)
    assert ended(answer) == ("abstained", "no_progress", True)
    written = ["answer", "check_grounded"] * 3
    assert nodes(answer) == [*BEGIN, *written, "check_useful", *AGAIN, *END]
    assert model.asked == ["grade", "answer", "answer", "answer", "rewrite"]
    assert answer.usage.calls == 5


def test_a_grader_that_replies_garbage_is_replaced_by_the_reader(engines: Engines) -> None:
    model = Scripted(grade="Sure! All of these are very relevant.", answer=honest("sea wall"))
    answer = engines.ask(WALL, model, **BATCH)
    assert ended(answer) == ("answered", "answered", False)
    assert nodes(answer) == [*BEGIN, *CHECKED, *END]
    assert model.asked == ["grade", "grade", "answer"]  # it is corrected once
    assert answer.usage.calls == 3
    assert {seen.graded_by for seen in answer.passages} == {"reader"}
    assert [seen.grade for seen in answer.passages].count("relevant") == 1
    (warning,) = answer.warnings
    assert warning.consequence == "the reader graded 10 of 10 instead"


# Answers that do not stand


def test_where_an_answer_is_never_grounded_the_readers_is_given(engines: Engines) -> None:
    model = Scripted(answer=INVENTED)
    answer = engines.ask(WALL, model)
    assert ended(answer) == ("answered", "answered", False)
    assert (answer.method, answer.model) == ("extractive", None)
    assert "Napoleon" not in answer.text
    written = ["answer", "check_grounded"] * 3
    assert nodes(answer) == [*BEGIN, *written, "check_useful", *END]
    assert (answer.usage.calls, answer.regenerations) == (3, 2)
    heats = [request.temperature for request in model.requests[:3]]
    assert heats == sorted(set(heats))
    assert "built by Napoleon" in model.requests[1].messages[-1].content


def test_an_answer_that_is_grounded_the_second_time_is_given(engines: Engines) -> None:
    model = Scripted(answer=[INVENTED, honest("sea wall")])
    answer = engines.ask(WALL, model)
    assert ended(answer) == ("answered", "answered", False)
    assert nodes(answer) == [*BEGIN, "answer", "check_grounded", *CHECKED, *END]
    assert (answer.usage.calls, answer.regenerations) == (2, 1)
    assert "Napoleon" not in answer.text


def test_an_answer_beside_the_point_is_given_as_the_best_there_is(engines: Engines) -> None:
    model = Scripted(answer=honest(BESIDE_THE_POINT), rewrite="sea wall Orsk Bay length")
    answer = engines.ask(WALL, model)
    assert ended(answer) == ("partial", "no_progress", True)
    assert nodes(answer) == [*BEGIN, *CHECKED, *AGAIN, *END]
    assert (answer.usage.calls, model.asked) == (2, ["answer", "rewrite"])
    assert (answer.grounded.value, answer.useful.value) == ("yes", "no")
    assert "may not be what was asked" in answer.text


# The web

LIGHTHOUSE = "How high is the tallest lighthouse of the cape?"


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as running:
        yield running


def _web(site: Site, **more: Any) -> dict[str, Any]:
    return {
        "enable_web_search": True,
        "url": site.url(),
        "allow_private": True,
        **more,
    }


def test_with_the_web_off_it_is_not_asked(engines: Engines, site: Site) -> None:
    site.offer("/article")
    answer = engines.ask(LIGHTHOUSE)
    assert ended(answer) == ("abstained", "no_evidence", False)
    assert nodes(answer) == [*BEGIN, "rewrite", "grade", *END]
    assert (site.requests, answer.usage.calls) == ([], 0)


def test_the_web_is_asked_once_the_library_has_no_other_way(engines: Engines, site: Site) -> None:
    site.offer("/article")
    model = Scripted(rewrite="height tallest lighthouse cape metres", answer=honest("43 metres"))
    answer = engines.ask(LIGHTHOUSE, model, web=_web(site))
    assert ended(answer) == ("answered", "answered", False)
    assert nodes(answer) == [*BEGIN, *AGAIN, "search_web", "grade", *CHECKED, *END]
    assert (answer.web_used, answer.citations[0].origin) == (True, "web")
    assert (answer.usage.calls, model.asked) == (2, ["rewrite", "answer"])


def test_a_web_that_is_down_is_a_warning(engines: Engines, site: Site) -> None:
    site.offer("/missing")
    model = Scripted(rewrite="height tallest lighthouse cape metres")
    answer = engines.ask(LIGHTHOUSE, model, web=_web(site))
    assert ended(answer) == ("abstained", "no_progress", True)
    assert nodes(answer) == [*BEGIN, *AGAIN, "search_web", "grade", *END]
    assert (answer.usage.calls, answer.web_used) == (1, False)
    (warning,) = answer.warnings
    assert warning.consequence == "skipped: the answer rests on the library alone"
