"""What an evaluation prints: tables for a person, summaries for a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from secondlook.cli.call import Call
    from secondlook.evaluation.records import Results


def show(call: Call, results: Results, folder: Path) -> None:
    """The tables for a person, the summaries for a program."""
    if call.as_json:
        from secondlook.cli.terminal import print_json

        told = results.model_dump(mode="json", exclude={"rows"})
        print_json(told)
        return
    from secondlook.cli.terminal import output
    from secondlook.evaluation.report.console import tables

    console = output()
    for table in tables(results):
        console.print(table)
    call.say(f"Results: {folder / 'results.json'}, {folder / 'report.html'}")
