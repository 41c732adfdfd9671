"""What an evaluation prints: tables for a person, summaries for a program."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from secondlook.cli.terminal import counted, one_line

if TYPE_CHECKING:
    from pathlib import Path

    from secondlook.cli.call import Call
    from secondlook.evaluation.records import Results

MOST_TOLD = 5
MOST_WARNED = 3


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
    tell_warnings(call, results)
    tell_review(call, results, folder)
    call.say(f"Results: {folder / 'results.json'}, {folder / 'report.html'}")


def tell_review(call: Call, results: Results, folder: Path) -> None:
    """Where every try was used up, a person should look."""
    number = sum(row.needs_review for row in results.rows)
    if number:
        call.say(f"To be reviewed: {counted(number, 'answer')}, {folder / 'review.csv'}")


def tell_warnings(call: Call, results: Results) -> None:
    """What answers came in spite of: figures of a model that was never reached are not its own."""
    told = Counter(warning for row in results.rows for warning in set(row.warnings))
    for warning, number in told.most_common(MOST_WARNED):
        call.say(f"warning: {number:,} of {len(results.rows):,} answers: {one_line(warning)}")
    if len(told) > MOST_WARNED:
        call.say(f"... and {len(told) - MOST_WARNED:,} other warnings; results.csv has them all")
    if told:
        call.say("--fresh asks again; what models have answered is remembered and costs nothing")


def tell_problems(call: Call, results: Results) -> None:
    """Rows of the set that could not be used, and what was rightly left out."""
    problems, count = results.data.get("problems", ()), results.data.get("problem_count", 0)
    for problem in problems[:MOST_TOLD]:
        place = f"{problem['file']}:{problem['line']}" if problem["line"] else problem["file"]
        call.say(f"not used: {place}: {problem['reason']}")
    if count > MOST_TOLD:
        call.say(f"... and {count - MOST_TOLD:,} more; results.json names them")
    unread = list(results.data.get("not_indexed", {}).items())
    for document, why in unread[:MOST_TOLD]:
        call.say(f"not indexed: {document}: {why}")
    if len(unread) > MOST_TOLD:
        call.say(f"... and {len(unread) - MOST_TOLD:,} more documents; results.json names them")
    for note in results.data.get("notes", ()):
        call.say(f"note: {note}")
