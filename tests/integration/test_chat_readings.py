"""A conversation with the workflow that corrects itself, over two documents that a pronoun may
both mean: as a person meets it."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from secondlook.cli.main import app
from secondlook.engine.secondlook import Conversation, Secondlook
from secondlook.library.library import Library
from secondlook.settings import load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from secondlook.settings.sections import Settings

    Typed = Callable[..., list[str]]

ADA = """# Ada Quill

Ada Quill is a singer from Halvermouth. She was born in 1981. Ada Quill left her group, the
Lanterns, in March 2001, after the tour of the islands. She won her first Golden Gull in 2004 for
the album Low Water.
"""
MIRA = """# Mira Stone

Mira Stone is a singer from Tolham. She was born in 1979. Mira Stone left her group, the Pilots, in
August 2007, and moved to the capital. She won her first Golden Gull in 2010.
"""
UNCLEAR = "When did she leave her group?"


@pytest.fixture(scope="module")
def singers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("singers")
    for name, text in (("ada.md", ADA), ("mira.md", MIRA)):
        (folder / name).write_text(text, encoding="utf-8")
    with Library.open(folder / "library") as library:
        library.add([folder / "ada.md", folder / "mira.md"])
    return folder / "library"


@pytest.fixture
def settings(singers: Path, tmp_path: Path) -> Settings:
    given = {
        "library.path": singers,
        "runs.path": tmp_path / "runs.db",
        "answer.workflow": "corrective",
    }
    return load(given).settings


@pytest.fixture
def engine(settings: Settings) -> Iterator[Secondlook]:
    with Secondlook.open(settings=settings) as opened:
        yield opened


@pytest.fixture
def typed(singers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Typed:
    """The lines that a command prints."""
    monkeypatch.setenv("SECONDLOOK_LIBRARY_PATH", str(singers))
    monkeypatch.setenv("SECONDLOOK_RUNS_PATH", str(tmp_path / "runs.db"))
    monkeypatch.setenv("SECONDLOOK_ANSWER_WORKFLOW", "corrective")

    def run(*words: str, lines: str = "") -> list[str]:
        monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
        done = CliRunner().invoke(app, words, input=lines)
        assert done.exit_code == 0, done.output
        return [line.rstrip() for line in done.stdout.splitlines()]

    return run


def test_the_reply_to_a_question_back_is_the_reading(engine: Secondlook) -> None:
    talk = Conversation(engine)
    first = talk.ask(UNCLEAR)
    assert (first.status, first.stop_reason) == ("partial", "ambiguous")
    assert first.asks_back
    second = talk.ask("mira")
    assert second.asked == "When did Mira Stone leave her group?"
    assert (second.short, second.status, second.asks_back) == ("August 2007", "answered", None)
    assert talk.ask("And when was she born?").short == "1979"


def test_a_chat_asks_back_last_and_takes_the_reply(typed: Typed) -> None:
    lines = typed("chat", "-q", lines=f"{UNCLEAR}\nAda Quill\n")
    back = next(line for line in lines if line.startswith("Whom do you mean"))
    at = lines.index(back)
    assert lines[at - 1] == ""
    assert lines[at + 1 : at + 4] == [
        "",
        "Took it as: When did Ada Quill leave her group?",
        "March 2001",
    ]
