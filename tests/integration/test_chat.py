"""Conversations, summaries and drawings over the sample documents, as a person meets them."""

from __future__ import annotations

import asyncio
import io
import os
import re
import signal
import sys
from typing import TYPE_CHECKING

import pytest

from secondlook.cli.main import main
from secondlook.engine.record import RunStore
from secondlook.engine.secondlook import Conversation, Secondlook
from secondlook.library.library import Library
from secondlook.settings import load
from tests.support.function_model import FunctionModel, models_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from secondlook.models.chat import ChatRequest
    from secondlook.settings.sections import Settings

FIRST = "How deep is berth 4 at the north quay?"
WHO = "Who is the harbour master?"


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


def answering(request: ChatRequest) -> str:
    """Rewrites from the conversation, and quotes the evidence: each from what it is shown."""
    prompt = request.messages[-1].content
    if "Last question: " in prompt:
        history, _, question = prompt.partition("Last question: ")
        return re.sub(r"\bhe\b", str(re.findall(r"[A-Z]\w+ [A-Z]\w+", history)[-1]), question)
    for number, text in re.findall(r"<<evidence-\w+ (\d+)>> (.*?)(?=\n<<)", prompt, re.DOTALL):
        if said := re.search(r"[A-Z][^.\n]*harbour master, Piet Aldous[^.\n]*\.", text):
            return f"{said[0]} [{number}]"
    return "NOT IN THE EVIDENCE"


# At the terminal


@pytest.fixture
def piped(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    samples: Library,
    tmp_path: Path,
) -> Callable[..., tuple[int, str, str]]:
    monkeypatch.setenv("SECONDLOOK_RUNS_PATH", str(tmp_path / "runs.db"))

    def chatted(lines: str, *given: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
        code = main(["chat", "--library", str(samples.path), *given])
        out, err = capsys.readouterr()
        return int(code or 0), out, err

    return chatted


def test_questions_come_from_a_pipe(piped: Callable[..., tuple[int, str, str]]) -> None:
    code, out, err = piped(f"{WHO}\n\n  when did he join?  \n/quit\nnever asked\n")
    assert code == 0
    assert f"> {WHO}\nPiet Aldous\n" in out
    taken = r"> when did he join\?\nTook it as: when did Piet Aldous join( the [\w ]*Trust)?\?\n"
    assert re.search(taken, out)
    assert "never asked" not in out
    assert "error" not in err


def test_orders_are_obeyed(piped: Callable[..., tuple[int, str, str]]) -> None:
    said = f"/sources\n{WHO}\n/sources\n/new\n/sources\nwhen did he join?\n/help\n/dance\n"
    code, out, err = piped(said)
    assert code == 0
    shown = re.findall(r'^\[1\] Minutes.+\n    .+\n    ".*Piet Aldous', out, re.MULTILINE)
    assert len(shown) == 2, "once with the answer, once when asked for"
    assert "Took it as" not in out
    assert "/sources  show where" in out
    assert "No answer yet." in err
    assert "The next question stands alone." in err
    assert "there is no /dance; /help" in err


def test_ctrl_c_stops_the_answer_and_keeps_the_chat(
    piped: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
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
    keys = iter([WHO, WHO, "/quit"])
    monkeypatch.setattr("secondlook.cli.chat.is_terminal", lambda _: True)
    monkeypatch.setattr("builtins.input", lambda _: next(keys))
    code, out, err = piped("")
    assert code == 0
    assert stopped == ["yes"]
    assert err.count("Stopped.") == 1
    assert out.count("Piet Aldous") >= 1


# Tables

SALES = [
    {"region": "east", "price": 10.0},
    {"region": "east", "price": 20.0},
    {"region": "west", "price": 40.0},
    {"region": "north", "price": 5.0},
]


def test_a_conversation_over_tables_that_came_with_it(tmp_path: Path) -> None:
    paths = {"library.path": tmp_path / "library", "runs.path": tmp_path / "runs.db"}
    settings = load(paths).settings
    library = Library.open(settings=settings)
    with Secondlook(library, settings=settings) as engine:
        talk = Conversation(engine, tables={"sales": SALES})
        first = talk.ask("mean price by region")
        assert first.values == {"mean of price": {"east": 15.0, "north": 5.0, "west": 40.0}}
        assert talk.ask("what is the median price of all rows of sales?").short == "15"
