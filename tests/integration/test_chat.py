"""Conversations, summaries and drawings over the sample documents, as a person meets them."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import signal
import sys
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.answer import Answer
from secondlook.cli.main import main
from secondlook.engine.record import RunStore
from secondlook.engine.secondlook import MOST_TURNS, Conversation, Secondlook
from secondlook.library.library import Library
from secondlook.settings import load
from secondlook.verify import verify
from tests.support.function_model import FunctionModel, models_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from secondlook.models.chat import ChatRequest
    from secondlook.settings.sections import Settings

FIRST = "How deep is berth 4 at the north quay?"
WHO = "Who is the harbour master?"


@pytest.fixture(scope="module")
def folder(samples: Library) -> Path:
    return samples.path


@pytest.fixture
def settings(folder: Path, tmp_path: Path) -> Settings:
    return load({"library.path": folder, "runs.path": tmp_path / "runs.db"}).settings


@pytest.fixture
def engine(settings: Settings) -> Iterator[Secondlook]:
    with Secondlook.open(settings=settings) as opened:
        yield opened


@pytest.fixture
def opened(settings: Settings) -> Callable[[FunctionModel], Secondlook]:
    """An engine whose every role is served by the double."""

    def open_with(model: FunctionModel) -> Secondlook:
        library = Library.open(settings=settings, create=False)
        return Secondlook(library, settings=settings, models=models_of(model))

    return open_with


# Conversations


def test_a_follow_up_is_worked_on_as_the_question_it_is_short_for(
    engine: Secondlook, settings: Settings
) -> None:
    talk = Conversation(engine)
    first = talk.ask(FIRST)
    assert (first.question, first.asked) == (FIRST, FIRST)
    assert "condense" not in {step.node for step in first.steps}
    second = talk.ask("and in 2016?")
    assert second.question == "and in 2016?"
    assert second.asked == "How deep is berth 4 at the north quay in 2016?"
    assert second.queries == (second.asked,)
    assert second.steps[0].node == "condense"
    assert [turn.asked for turn in talk.turns] == [first.asked, second.asked]
    with RunStore.open(settings.runs.path) as store:
        stored = store.get(second.run)
        assert stored.question == "and in 2016?"
        assert stored.answer == second
        assert "condense" in {getattr(event, "node", "") for event in store.events(second.run)}


def test_the_answer_before_says_who_is_meant(engine: Secondlook) -> None:
    talk = Conversation(engine)
    assert talk.ask(WHO).short == "Piet Aldous"
    assert talk.ask("when did he join?").asked == "when did Piet Aldous join?"
    talk.forget()
    assert talk.turns == ()
    assert talk.ask("when did he join?").asked == "when did he join?"


def test_options_hold_for_every_question_unless_one_says_otherwise(engine: Secondlook) -> None:
    talk = Conversation(engine, workflow="adaptive", documents=["harbour-handbook.docx"])
    assert talk.ask(WHO).workflow == "adaptive"
    answer = talk.ask(WHO, workflow="linear")
    assert answer.workflow == "linear"
    assert {passage.title for passage in answer.passages} == {"Harbour Handbook for Skippers"}


def test_a_question_that_was_left_was_never_asked(engine: Secondlook) -> None:
    talk = Conversation(engine)
    events = talk.stream(FIRST)
    assert next(events).type == "run_started"
    events.close()
    assert talk.turns == ()
    assert [event.type for event in talk.stream(FIRST)][-1] == "answered"
    assert len(talk.turns) == 1


def test_only_so_much_is_remembered(engine: Secondlook) -> None:
    talk = Conversation(engine)
    answer = talk.ask(FIRST)
    for _ in range(MOST_TURNS + 5):
        talk._remembered(answer)
    assert len(talk.turns) == MOST_TURNS


def test_async_code_has_the_same_doors(settings: Settings) -> None:
    async def talked() -> tuple[Answer, list[str]]:
        engine = Secondlook.open(settings=settings)
        try:
            talk = Conversation(engine)
            await talk.aask(WHO)
            seen = [event async for event in talk.astream("when did he join?")]
            return seen[-1].answer, [event.type for event in seen]  # type: ignore[union-attr]
        finally:
            await engine.aclose()

    answer, kinds = asyncio.run(talked())
    assert answer.asked == "when did Piet Aldous join?"
    assert kinds[:2] == ["run_started", "node_finished"]


def answering(request: ChatRequest) -> str:
    """Rewrites from the conversation, and quotes the evidence: each from what it is shown."""
    prompt = request.messages[-1].content
    if "Last question: " in prompt:
        history, _, question = prompt.partition("Last question: ")
        name = re.findall(r"[A-Z]\w+ [A-Z]\w+", history)[-1]
        return re.sub(r"\bhe\b", str(name), question)
    for number, text in re.findall(r"<<evidence-\w+ (\d+)>> (.*?)(?=\n<<)", prompt, re.DOTALL):
        if said := re.search(r"[A-Z][^.\n]*harbour master, Piet Aldous[^.\n]*\.", text):
            return f"{said[0]} [{number}]"
    return "NOT IN THE EVIDENCE"


def test_what_a_model_takes_to_rewrite_is_on_the_bill(
    opened: Callable[[FunctionModel], Secondlook],
) -> None:
    model = FunctionModel(answering)
    with opened(model) as engine:
        talk = Conversation(engine, workflow="linear")
        talk.ask(WHO)
        answer = talk.ask("when did he join?")
    assert answer.asked == "when did Piet Aldous join?"
    assert answer.steps[0].numbers["by"] == "a model"
    assert {item.role for item in answer.usage.by_node} == {"condense", "answer"}
    assert answer.usage.calls == 2
    assert len(model.requests) == 3


# Summaries


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("summarise the harbour survey", "Halvermouth Harbour Survey 2024"),
        ("what is the harbour handbook about?", "Harbour Handbook for Skippers"),
        ("Please summarise dredging-offer.eml in two sentences", "Offer for dredging"),
        ("summary of the lighthouse log", "lighthouse log 2023"),
        ("tl;dr tides-and-berths-2024.xlsx", "Tides and berths in 2024"),
        ("sum up the annual report", "Halvermouth Harbour Trust: Annual Report 2023"),
        ("main points of the council minutes", "Minutes of the Halvermouth town council"),
    ],
)
def test_a_request_for_a_summary_finds_its_document_and_stands(
    engine: Secondlook, question: str, named: str
) -> None:
    answer = engine.ask(question)
    assert (answer.workflow, answer.method, answer.status) == ("summary", "outline", "answered")
    assert {citation.title.startswith(named) for citation in answer.citations} == {True}
    assert verify(answer, engine.library) == []


def test_what_is_this_about_lists_the_documents(engine: Secondlook) -> None:
    answer = engine.ask("what is this about?")
    titles = {document.title for document in engine.library.documents()}
    assert {citation.title for citation in answer.citations} == titles
    assert verify(answer, engine.library) == []
    one = engine.ask("what is this about?", documents=["harbour-handbook.docx"])
    assert one.text.startswith('Outline of "Harbour Handbook for Skippers"')


def test_filters_and_documents_bound_a_summary(engine: Secondlook) -> None:
    answer = engine.ask("what is this about?", filters={"kind": "docx"})
    assert {citation.title for citation in answer.citations} == {"Harbour Handbook for Skippers"}
    other = engine.ask("summarise the survey", documents=["harbour-handbook.docx"])
    assert "Halvermouth Harbour Survey 2024" not in {c.title for c in other.citations}


def test_a_topic_is_summed_up_over_documents(engine: Secondlook) -> None:
    answer = engine.ask("give me an overview of storms")
    assert len({citation.document for citation in answer.citations}) > 1
    assert verify(answer, engine.library) == []
    nothing = engine.ask("summarise the genetics of unicorns")
    assert (nothing.status, nothing.stop_reason) == ("abstained", "no_evidence")


def test_a_workflow_that_is_named_is_kept(engine: Secondlook) -> None:
    assert engine.ask("summarise the harbour survey", workflow="linear").workflow == "linear"
    assert engine.ask("harbour survey", workflow="summary").method == "outline"
    assert engine.ask("What is the Domesday Book about?").workflow == "corrective"


def test_a_summary_that_is_asked_for_in_a_conversation(engine: Secondlook) -> None:
    talk = Conversation(engine)
    talk.ask("When was the Harbour Survey made?")
    answer = talk.ask("summarise it")
    assert answer.asked == "summarise the Harbour Survey"
    assert answer.workflow == "summary"
    assert {c.title for c in answer.citations} == {"Halvermouth Harbour Survey 2024"}


def noting(request: ChatRequest) -> str:
    """A sentence of each piece of evidence, with its number."""
    prompt = request.messages[-1].content
    blocks = re.findall(r"<<evidence-\w+ (\d+)>> (.*?)(?=\n<<)", prompt, re.DOTALL)
    said = []
    for number, block in blocks:
        found = re.findall(r"(?:(?<=\n)|(?<=[.] )|\A)[A-Z][^.\n]{20,}\.(?=\s|\Z)", block)
        said += [f"{found[0]} [{number}]"] if found else []
    return " ".join(said) or "NOT IN THE EVIDENCE"


def test_a_summary_by_a_model_stands_too(opened: Callable[[FunctionModel], Secondlook]) -> None:
    with opened(FunctionModel(noting, context=1200, local=True)) as engine:
        answer = engine.ask("summarise the harbour survey")
        assert answer.method == "summary"
        assert answer.usage.calls > 1
        assert len(answer.claims) > 2
        assert verify(answer, engine.library) == []


@pytest.mark.parametrize(
    ("model", "order"),
    [
        (FunctionModel(noting), ["choose", "summarise", "finish"]),
        (FunctionModel(lambda _: ""), ["choose", "summarise", "outline", "finish"]),
    ],
    ids=["summary", "outline"],
)
def test_a_summary_stopped_after_any_node_is_resumed_to_the_same(
    model: FunctionModel, order: list[str], opened: Callable[[FunctionModel], Secondlook]
) -> None:
    question = "summarise the harbour handbook"

    async def stopped_before(node: str) -> str:
        engine = opened(model)
        async with aclosing(engine.astream(question, workflow="summary")) as events:
            async for event in events:
                if event.type == "node_started" and event.node == node:
                    break
        await engine.aclose()
        return event.run

    with opened(model) as engine:
        whole = engine.ask(question, workflow="summary")
    assert [step.node for step in whole.steps] == order
    for node in order[1:]:
        run = asyncio.run(stopped_before(node))
        asked = len(model.requests)
        with opened(model) as engine:
            resumed = engine.resume(run)
        assert (resumed.text, resumed.claims) == (whole.text, whole.claims)
        assert [step.node for step in resumed.steps] == order
        assert len(model.requests) == asked or node == "summarise"


def test_a_follow_up_is_resumed_as_it_was_worked_on(settings: Settings) -> None:
    async def resumed() -> Answer:
        engine = Secondlook.open(settings=settings)
        talk = Conversation(engine)
        await talk.aask(WHO)
        async with aclosing(talk.astream("when did he join?")) as events:
            async for event in events:
                if event.type == "node_started":
                    break
        answer = await engine.aresume(event.run)
        await engine.aclose()
        return answer

    answer = asyncio.run(resumed())
    assert (answer.question, answer.asked) == ("when did he join?", "when did Piet Aldous join?")


# At the terminal


def command(capsys: pytest.CaptureFixture[str], *given: str) -> tuple[int, str, str]:
    code = main(given)
    out, err = capsys.readouterr()
    return int(code or 0), out, err


@pytest.fixture
def piped(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    tmp_path: Path,
) -> Callable[..., tuple[int, str, str]]:
    monkeypatch.setenv("SECONDLOOK_RUNS_PATH", str(tmp_path / "runs.db"))

    def chatted(lines: str, *given: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
        return command(capsys, "chat", "--library", str(folder), *given)

    return chatted


@pytest.fixture
def typed(
    piped: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, str, str]]:
    """A person at a terminal, who types these lines or presses these keys."""

    def chatted(keys: list[str | BaseException], *given: str) -> tuple[int, str, str]:
        left = iter(keys)

        def typing(_: str) -> str:
            key = next(left, EOFError())
            if isinstance(key, BaseException):
                raise key
            return key

        monkeypatch.setattr("secondlook.cli.chat.is_terminal", lambda _: True)
        monkeypatch.setattr("builtins.input", typing)
        return piped("", *given)

    return chatted


def test_questions_come_from_a_pipe(piped: Callable[..., tuple[int, str, str]]) -> None:
    code, out, err = piped(f"{WHO}\n\n  when did he join?  \n/quit\nnever asked\n")
    assert code == 0
    assert f"> {WHO}\nPiet Aldous\n" in out
    assert "> when did he join?\nTook it as: when did Piet Aldous join?\n" in out
    assert "never asked" not in out
    assert "error" not in err


def test_json_is_an_answer_per_line(piped: Callable[..., tuple[int, str, str]]) -> None:
    code, out, _ = piped(f"{WHO}\nwhen did he join?\n", "--json")
    answers = [Answer.model_validate_json(line) for line in out.splitlines()]
    assert code == 0
    assert [answer.question for answer in answers] == [WHO, "when did he join?"]
    assert answers[1].asked == "when did Piet Aldous join?"


def test_orders_are_obeyed(piped: Callable[..., tuple[int, str, str]]) -> None:
    said = f"/sources\n{WHO}\n/sources\n/new\n/sources\nwhen did he join?\n/help\n/dance\n"
    code, out, err = piped(said)
    assert code == 0
    shown = re.findall(r'^\[1\] .+\n    .+\n    ".*Piet Aldous', out, re.MULTILINE)
    assert len(shown) == 2, "once with the answer, once when asked for"
    assert "Took it as" not in out
    assert "/sources  show where" in out
    assert "No answer yet." in err
    assert "The next question stands alone." in err
    assert "there is no /dance; /help" in err


def test_an_answer_without_sources_says_so(piped: Callable[..., tuple[int, str, str]]) -> None:
    _, _, err = piped("what did the unicorn sing in Paris?\n/sources\n", "-q")
    assert err == ""
    _, _, err = piped("what did the unicorn sing in Paris?\n/sources\n")
    assert "The last answer has no sources." in err


def test_what_goes_wrong_with_a_question_does_not_end_the_chat(
    piped: Callable[..., tuple[int, str, str]],
) -> None:
    code, out, err = piped("one\ntwo\n", "--workflow", "nope")
    assert code == 0
    assert err.count("error: there is no workflow 'nope'") == 2
    assert "hint: there are linear" in err
    _, out, _ = piped("one\n", "--workflow", "nope", "--json")
    assert json.loads(out)["error"]["code"] == "UsageError"


def test_options_are_those_of_ask(piped: Callable[..., tuple[int, str, str]]) -> None:
    given = ("--workflow", "adaptive", "--doc", "harbour-handbook.docx", "--json")
    _, out, _ = piped(f"{WHO}\n", *given, "--filter", "kind=docx", "--timeout", "60")
    answer = Answer.model_validate_json(out)
    assert answer.workflow == "adaptive"
    assert {passage.title for passage in answer.passages} == {"Harbour Handbook for Skippers"}
    code, _, err = piped("", "--doc", "nowhere.txt")
    assert code == 2
    assert "nowhere.txt" in err


def test_a_person_leaves_with_the_end_of_input(typed: Callable[..., tuple[int, str, str]]) -> None:
    code, out, err = typed([WHO, KeyboardInterrupt(), "", EOFError()])
    assert code == 0
    assert "Piet Aldous" in out
    assert "Ask about your documents" in err
    assert "/quit or Ctrl-D leaves." in err


def test_ctrl_c_stops_the_answer_and_keeps_the_chat(
    typed: Callable[..., tuple[int, str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stopped: list[str] = []

    async def slow_at_first(request: ChatRequest) -> str:
        if stopped:
            return answering(request)
        os.kill(os.getpid(), signal.SIGINT)
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append("yes")
        return "never"

    model = FunctionModel(slow_at_first)
    monkeypatch.setattr(
        "secondlook.cli.chat.opened_engine",
        lambda library: Secondlook(library, models=models_of(model)),
    )
    code, out, err = typed([WHO, WHO, "/quit"])
    assert code == 0
    assert stopped == ["yes"]
    assert err.count("Stopped.") == 1
    assert out.count("Piet Aldous") >= 1


def test_ctrl_c_ends_what_comes_from_a_pipe(
    piped: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def pressed(self: Conversation, text: str) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(Conversation, "stream", pressed)
    code, _, err = piped(f"{WHO}\n{WHO}\n")
    assert code == 130
    assert err.count("Stopped.") == 1


# Drawings


def test_workflows_are_listed_and_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = command(capsys, "graph")
    assert code == 0
    assert re.search(r"^linear\s+retrieve, rerank.*baseline$", out, re.MULTILINE)
    assert re.search(r"^auto\s+looks at the question.*\(default\)$", out, re.MULTILINE)
    _, out, _ = command(capsys, "graph", "adaptive")
    assert out.startswith("graph TD;")
    assert "search_web" not in out
    _, out, _ = command(capsys, "graph", "adaptive", "--web")
    assert "search_web" in out
    code, _, err = command(capsys, "graph", "nope")
    assert code == 2
    assert "there is no workflow 'nope'" in err


def test_drawings_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = command(capsys, "graph", "--json")
    assert json.loads(out)["default"] == "auto"
    _, out, _ = command(capsys, "graph", "summary", "--json")
    assert json.loads(out)["mermaid"].startswith("graph TD;")
