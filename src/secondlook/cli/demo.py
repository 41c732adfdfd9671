"""`secondlook demo`: see it work in a minute, on documents that come with it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from secondlook.cli.add import print_failed, summary
from secondlook.cli.ask import answer_live, opened_engine, show_answer
from secondlook.cli.call import Call, command
from secondlook.cli.failure import INTERRUPTED, STOPPED

if TYPE_CHECKING:
    import typer

EXAMPLES = """\
\b
It works in a temporary library, unless --library names one to keep. Then try
your own documents:
  secondlook add ~/papers
  secondlook ask "..."
  secondlook serve      the page, in your browser
"""
QUESTIONS = (
    "how thick is the sheet piling of the south quay",
    "who voted against the dredging",
    "who designed the lighthouse on Cape Varn",
)
"""The documents do not say who designed the lighthouse: that answer is withheld."""


def register(app: typer.Typer) -> None:
    app.command("demo", epilog=EXAMPLES)(demo)


@command(json=False)
def demo(call: Call) -> int:
    """Try it on sample documents; leaves nothing behind unless --library says where."""
    from secondlook.cli.progress import shown_progress
    from secondlook.library import samples_folder
    from secondlook.library.passing import passing_library

    loaded = call.load()
    kept = call.open(loaded, create=True) if call.library else passing_library(loaded.settings)
    with kept as library:
        _announce(f"add {samples_folder()}")
        with shown_progress(call) as progress:
            report = library.add([samples_folder()], progress=progress)
        if report.interrupted:
            sys.stderr.write(f"{STOPPED}\n")
            return INTERRUPTED
        print_failed([(item.path, item.reason) for item in report.failed])
        sys.stdout.write(f"{summary(report)}\n")
        with opened_engine(library) as engine:
            for question in QUESTIONS:
                _announce(f'ask "{question}"')
                answer = answer_live(call, engine, question, trace=False)
                show_answer(call, answer, passing=call.library is None)
    call.say("\nNow your own documents: secondlook serve opens the page in your browser.")
    return 0


def _announce(line: str) -> None:
    sys.stdout.write(f"\n$ secondlook {line}\n")
    sys.stdout.flush()
