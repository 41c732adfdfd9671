"""`secondlook memory`: research that is remembered, and how to forget it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from secondlook.cli.call import Call, command
from secondlook.cli.call import unless_named
from secondlook.cli.terminal import counted, is_terminal, one_line, print_json
from secondlook.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.memory.answers import AnswerMemory, Entry

EXAMPLES = """\
\b
Where a question is asked again, `ask --workflow research` uses what it found
the first time, as long as every passage it cites still says the same. Each
library has its own. Examples:
  secondlook memory list            what is remembered
  secondlook memory forget 3        forget one
  secondlook memory clear           forget all of it
  secondlook ask --fresh "..."      research anew, and remember that

\b
`research.enable_memory = false` remembers nothing, nor does `runs.keep = 0`.
"""
LIST_EXAMPLES = """\
\b
Examples:
  secondlook memory list
  secondlook memory list --json | jq -r ".memory[].question"
"""
FORGET_EXAMPLES = """\
\b
The ids are those of `secondlook memory list`. The runs stay recorded; your
documents are not touched. Examples:
  secondlook memory forget 3
  secondlook memory forget 3 5 8 --yes
"""
CLEAR_EXAMPLES = """\
\b
Examples:
  secondlook memory clear
  secondlook memory clear --yes
  secondlook memory clear --all     that of every library
"""
_NOTHING = 'Nothing is remembered yet: secondlook ask --workflow research "..."'
_DATE = 10
_MOST_ASKED_ABOUT = 5

YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="The research that is remembered, to be used again.")
    group.callback(invoke_without_command=True, epilog=EXAMPLES)(unless_named(list_))
    group.command("list", epilog=LIST_EXAMPLES)(list_)
    group.command("forget", epilog=FORGET_EXAMPLES)(forget)
    group.command("clear", epilog=CLEAR_EXAMPLES)(clear)
    app.add_typer(group, name="memory")


@command()
def list_(call: Call) -> None:
    """List the questions whose research is remembered, newest first."""
    with _opened(call) as memory:
        found = memory.list()
    if call.as_json:
        print_json({"memory": [_form(item) for item in found]})
    elif is_terminal(sys.stdout):
        _print_table(found)
    else:
        _print_lines(found)
    if not found:
        call.say(_NOTHING)


@command()
def forget(
    call: Call,
    *,
    ids: Annotated[list[int], typer.Argument(metavar="ID", help="Ids, as the list shows them.")],
    yes: YesOption = False,
) -> None:
    """Forget some of the research that is remembered."""
    with _opened(call) as memory:
        held = {item.id: item for item in memory.list()}
        # All are looked up before the first goes: a mistyped id forgets nothing.
        chosen = [_known(one, held) for one in dict.fromkeys(ids)]
        _confirm(call, f"Forget {_named(chosen)}?", yes=yes)
        gone = memory.forget([item.id for item in chosen])
    _report(call, gone)


@command()
def clear(
    call: Call,
    *,
    yes: YesOption = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Of every library, not only of this one.")
    ] = False,
) -> None:
    """Forget all research that is remembered of the library."""
    with _opened(call) as memory:
        whose = "every library" if everything else f"{memory.library!r}"
        _confirm(call, f"Forget all research in {whose}?", yes=yes)
        gone = memory.clear(every_library=everything)
    if call.as_json:
        print_json({"forgotten": gone})
    else:
        call.say(f"Forgot {counted(gone, 'question')}.")


def _opened(call: Call) -> AnswerMemory:
    from secondlook.memory.answers import AnswerMemory

    settings = call.load().settings
    return AnswerMemory.own(settings.runs, settings.library.path)


def _known(wanted: int, held: Mapping[int, Entry]) -> Entry:
    if wanted not in held:
        raise UsageError(
            f"nothing is remembered under {wanted}", hint="secondlook memory list shows what is"
        )
    return held[wanted]


def _confirm(call: Call, question: str, *, yes: bool) -> None:
    if not yes and not call.as_json and is_terminal(sys.stdin):
        typer.confirm(question, abort=True, err=True)


def _named(entries: Sequence[Entry]) -> str:
    shown = [f"{item.id} ({one_line(item.question)})" for item in entries[:_MOST_ASKED_ABOUT]]
    more = len(entries) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _report(call: Call, gone: Sequence[int]) -> None:
    if call.as_json:
        print_json({"forgotten": list(gone)})
    else:
        call.say(f"Forgot {counted(len(gone), 'question')}.")


def _form(entry: Entry) -> dict[str, object]:
    return {
        "id": entry.id,
        "question": entry.question,
        "created": entry.created,
        "run": entry.run,
        "library": entry.library,
        "steps": len(entry.research.get("plan", [])),
        "passages": [item.passage for item in entry.cited],
    }


def _print_lines(entries: Sequence[Entry]) -> None:
    """One a line, columns separated by tabs, for other programs to cut."""
    for item in entries:
        columns = (str(item.id), item.created, item.run, item.question)
        sys.stdout.write("\t".join(map(one_line, columns)) + "\n")


def _print_table(entries: Sequence[Entry]) -> None:
    from rich.table import Table

    from secondlook.cli.terminal import output

    if not entries:
        return
    console, table = output(), Table(box=None, pad_edge=False, header_style="dim")
    widths = {"id": max(2, len(str(entries[0].id))), "date": _DATE, "passages": len("passages")}
    # Never cut: an id is what to type. Where there is little room the question is.
    for name, width in widths.items():
        table.add_column(name, no_wrap=True, min_width=width)
    room = console.width - sum(width + 2 for width in widths.values())
    table.add_column("question", overflow="ellipsis", no_wrap=True, max_width=max(1, room))
    for item in entries:
        cells = (str(item.id), item.created[:_DATE], str(len(item.cited)), one_line(item.question))
        table.add_row(*cells)
    console.print(table)
