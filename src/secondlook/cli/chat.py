"""`secondlook chat`: question after question, each of which may lean on those before."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from secondlook.cli.answers import held_back, print_answer, show_nearest
from secondlook.cli.ask import OPTIONS, Asking, answer_live, asking, opened_engine, show_answer
from secondlook.cli.command import (
    INTERRUPTED,
    STOPPED,
    Call,
    command,
    is_terminal,
    one_line,
    output,
    report,
)
from secondlook.cli.library import print_failed, summary
from secondlook.cli.search import library_for
from secondlook.errors import SecondlookError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secondlook.answer import Answer
    from secondlook.engine.secondlook import Conversation

PROMPT = "> "
HELP = """\
Type a question, or
  /new      forget the questions so far
  /sources  show where the last answer stands, with all of its quotes
  /help     this
  /quit     leave (or Ctrl-D)
Ctrl-C stops an answer that is being worked on."""


@command(
    """\
\b
A follow-up such as "and in 2023?" is made whole from the questions before it.
Ctrl-C stops an answer and keeps the chat; Ctrl-D leaves. Example:
  secondlook chat --doc handbook.docx --model ollama:qwen2.5
""",
    shared=OPTIONS,
    read=asking,
)
def chat(call: Call, how: Asking) -> int:
    """Ask question after question; a later one may refer to those before it."""
    from secondlook.engine.secondlook import Conversation

    with (
        library_for(call, how.loaded, over_tables=how.tables is not None) as library,
        opened_engine(library) as engine,
    ):
        conversation = Conversation(engine, **how.scope(engine.library))
        _Chat(call, conversation, trace=how.trace, typed=is_terminal(sys.stdin)).run()
    return 0


@dataclass(slots=True)
class _Chat:
    call: Call
    conversation: Conversation
    trace: bool
    typed: bool  # by a person, at a terminal
    last: Answer | None = None

    def run(self) -> None:
        if self.typed:
            self.call.say("Ask about your documents. /help shows what else there is.")
        for line in self._lines():
            said = line.strip()
            if said.startswith("/"):
                if not self._obey(said):
                    return
            elif said:
                self._ask(said)

    def _lines(self) -> Iterator[str]:
        if not self.typed:
            yield from sys.stdin
            return
        with suppress(ImportError):  # Windows edits lines by itself
            import readline  # noqa: F401  # arrow keys and earlier questions in input()
        while True:
            try:
                yield input(PROMPT)
            except EOFError:
                sys.stdout.write("\n")
                return
            except KeyboardInterrupt:
                self.call.say("\n/quit or Ctrl-D leaves.")

    def _obey(self, said: str) -> bool:
        """Whether the chat goes on."""
        order = said.split(maxsplit=1)[0].casefold()
        if order in {"/quit", "/exit", "/q"}:
            return False
        if order == "/new":
            self.conversation.forget()
            self.last = None
            self.call.say("Forgotten. The next question stands alone.")
        elif order == "/sources":
            self._show_sources()
        elif order == "/help":
            typer.echo(HELP)
        else:
            sys.stderr.write(f"there is no {one_line(order)}; /help shows what there is\n")
        return True

    def _ask(self, question: str) -> None:
        """One question; what goes wrong with it does not end the chat."""
        if not self.typed and not self.call.as_json and not self.call.quiet:
            typer.echo(f"{PROMPT}{question}")
        try:
            self._answer(question)
        except KeyboardInterrupt:
            if not self.typed:
                raise
            self.call.say(f"\n{STOPPED}")
        except SecondlookError as error:
            code = type(error).__name__
            report(code, error.message, error.hint, as_json=self.call.as_json, indent=0)

    def _answer(self, question: str) -> None:
        from secondlook.cli.progress import run_watched

        with run_watched(self.call, trace=self.trace) as see:
            for event in self.conversation.stream(question):
                see(event)
                if event.type == "answered":
                    answer = self.last = event.answer
                elif (
                    event.type == "node_finished"
                    and event.node == "condense"
                    and event.numbers.get("changed")
                    and not self.call.as_json
                ):  # the question that is answered, where that is not what was typed
                    output().print(event.said, style="dim")
        if self.call.as_json:
            typer.echo(answer.model_dump_json())
            return
        engine = self.conversation.engine
        nearest = held_back(engine, answer) and not self.call.quiet
        print_answer(answer, quiet=self.call.quiet, search=None if nearest else "secondlook search")
        if nearest:
            show_nearest(engine, answer)
        typer.echo("")
        sys.stdout.flush()

    def _show_sources(self) -> None:
        if self.last is None or not self.last.citations:
            self.call.say("The last answer has no sources." if self.last else "No answer yet.")
            return
        for citation in self.last.citations:
            page = f", p. {citation.page}" if citation.page is not None else ""
            typer.echo(f"[{citation.number}] {citation.title}{page}")
            if place := citation.url or citation.path:
                typer.echo(f"    {place}")
            typer.echo(f'    "{one_line(citation.quote)}"')


# `secondlook demo`: see it work in a minute, on documents that come with it.

QUESTIONS = (
    "how thick is the sheet piling of the south quay",
    "who voted against the dredging",
    "who designed the lighthouse on Cape Varn",
)
"""The documents do not say who designed the lighthouse: that answer is withheld."""


@command(
    "\b\nIn a temporary library, unless --library names one. Then: secondlook add ~/papers\n",
    json=False,
)
def demo(call: Call) -> int:
    """Try it on sample documents; leaves nothing behind unless --library says where."""
    from secondlook.cli.progress import shown_progress
    from secondlook.library.library import passing_library, samples_folder

    def announce(line: str) -> None:
        sys.stdout.write(f"\n$ secondlook {line}\n")
        sys.stdout.flush()

    loaded = call.load()
    kept = call.open(loaded, create=True) if call.library else passing_library(loaded.settings)
    with kept as library:
        announce(f"add {samples_folder()}")
        with shown_progress(call) as progress:
            added = library.add([samples_folder()], progress=progress)
        if added.interrupted:
            sys.stderr.write(f"{STOPPED}\n")
            return INTERRUPTED
        print_failed([(item.path, item.reason) for item in added.failed])
        sys.stdout.write(f"{summary(added)}\n")
        with opened_engine(library) as engine:
            for question in QUESTIONS:
                announce(f'ask "{question}"')
                answer = answer_live(call, engine, question, trace=False)
                show_answer(call, answer, passing=call.library is None)
    call.say("\nNow your own documents: secondlook serve opens the page in your browser.")
    return 0
