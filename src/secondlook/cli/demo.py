"""`secondlook demo`: see it work in a minute, on documents that come with it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from secondlook.cli.add import passing_library, print_failed, summary
from secondlook.cli.call import Call, command
from secondlook.cli.failure import INTERRUPTED, STOPPED
from secondlook.cli.search import show_hits

if TYPE_CHECKING:
    import typer

EXAMPLES = """\
\b
It works in a temporary library, unless --library names one to keep. Then try
your own documents:
  secondlook add ~/papers
  secondlook search "..."
"""
QUESTIONS = (
    "how deep is the deepest berth",
    "what will dredging the harbour cost",
    "did the light go out in the storm",
)
_HITS = 2


def register(app: typer.Typer) -> None:
    app.command("demo", epilog=EXAMPLES)(demo)


@command(json=False)
def demo(call: Call) -> int:
    """Try it on sample documents; leaves nothing behind unless --library says where."""
    from secondlook.cli.progress import shown_progress
    from secondlook.library import samples_folder

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
        for question in QUESTIONS:
            _announce(f'search "{question}" -k {_HITS}')
            hits = library.search(question, k=_HITS)
            show_hits(call, library, question, hits)
    return 0


def _announce(line: str) -> None:
    sys.stdout.write(f"\n$ secondlook {line}\n")
    sys.stdout.flush()
