"""What an evaluation prints: tables for a person, summaries for a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from secondlook.cli.call import Call
    from secondlook.evaluation.records import Results

MOST_TOLD = 5


def show(call: Call, results: Results, folder: Path) -> None:
    """The tables for a person, the summaries for a program."""
    if call.as_json:
        from secondlook.cli.terminal import print_json

        told = results.model_dump(mode="json", exclude={"rows"})
        print_json(told)
        return
    from secondlook.cli.terminal import output
    from secondlook.evaluation.report.console import tables

    tell_problems(call, results)
    console = output()
    for table in tables(results):
        console.print(table)
    call.say(f"Results: {folder / 'results.json'}, {folder / 'report.html'}")


def tell_problems(call: Call, results: Results) -> None:
    """Rows of the set that could not be used, and what was rightly left out."""
    problems, count = results.data.get("problems", ()), results.data.get("problem_count", 0)
    for problem in problems[:MOST_TOLD]:
        place = f"{problem['file']}:{problem['line']}" if problem["line"] else problem["file"]
        call.say(f"not used: {place}: {problem['reason']}")
    if count > MOST_TOLD:
        call.say(f"... and {count - MOST_TOLD:,} more; results.json names them")
    for note in results.data.get("notes", ()):
        call.say(f"note: {note}")
