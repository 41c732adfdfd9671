"""`secondlook eval report`, `compare`, `thresholds` and `hypotheses`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path  # noqa: TC003  # typer reads it
from typing import TYPE_CHECKING, Annotated

import typer

from secondlook.cli.call import Call, command
from secondlook.cli.evaluate_options import over_a_set
from secondlook.cli.evaluate_showing import show

if TYPE_CHECKING:
    from secondlook.evaluation.evaluating import Request
    from secondlook.evaluation.gate import Gate

REPORT_EXAMPLES = """\
\b
Nothing is asked again. Examples:
  secondlook eval report secondlook-eval/squad2-dev
  secondlook eval report a/results.json
"""
COMPARE_EXAMPLES = """\
\b
B is held against A on the questions that both answered. Examples:
  secondlook eval compare before/results.json after/results.json
  secondlook eval compare before after --metric faithfulness
  secondlook eval compare main/results.json branch/results.json --gate

\b
With --gate the exit code is 1 for a loss that is more than chance, else 0.
"""
THRESHOLDS_EXAMPLES = """\
\b
Without --param: the lowest rerank score at which `adaptive` searches again.
Examples:
  secondlook eval thresholds squad2-dev --limit 500
  secondlook eval thresholds squad2-dev --param adaptive.min_quality --values 0.1,0.3,0.5
  secondlook eval thresholds squad2-dev --param answer.k
"""
HYPOTHESES_EXAMPLES = """\
\b
H1  rewriting a question helps where the first search failed
H2  the grader is right: precision of 80 % and recall of 70 % or more
H3  each further retry gains less than the one before
Beside them the bars that `corrective` was given, met or not met, and how many
rewrites pay (corrective.max_rewrites).

\b
Examples:
  secondlook eval hypotheses squad2-dev --limit 500
"""
REGRESSED = 1


def register(group: typer.Typer) -> None:
    group.command("report", epilog=REPORT_EXAMPLES)(report)
    group.command("compare", epilog=COMPARE_EXAMPLES)(compare)
    group.command("thresholds", epilog=THRESHOLDS_EXAMPLES)(thresholds)
    group.command("hypotheses", epilog=HYPOTHESES_EXAMPLES)(hypotheses)


@command(library=False)
def report(
    call: Call,
    *,
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="Where an evaluation put its results.")
    ],
) -> int:
    """Draw tables, plots and report once more, from results.json alone."""
    from secondlook.evaluation import report as reports
    from secondlook.evaluation import results

    found = results.read(directory)
    folder = directory if directory.is_dir() else directory.parent
    reports.write(found, folder)
    show(call, found, folder)
    return 0


@command(library=False)
def compare(
    call: Call,
    *,
    a: Annotated[Path, typer.Argument(metavar="A", help="Results to hold against.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="Results that are new.")],
    metric: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which metric decides (docs/metrics.md).")
    ] = None,
    gate: Annotated[
        bool, typer.Option("--gate", help="Exit with 1 if B is significantly worse.")
    ] = False,
) -> int:
    """Hold the results of one evaluation against those of another."""
    from secondlook.evaluation import results
    from secondlook.evaluation.gate import gate as held_against

    found = held_against(results.read(a), results.read(b), metric=metric)
    if not call.as_json:
        call.say(f"A is {a}, B is {b}; each change is B less A")
    _show_gate(call, found)
    return REGRESSED if gate and found.failed else 0


def _show_gate(call: Call, found: Gate) -> None:
    from secondlook.cli.terminal import output, print_json

    if call.as_json:
        pairs = [item.model_dump(mode="json") for item in found.comparisons]
        print_json({"lost": list(found.lost), "said": list(found.lines), "comparisons": pairs})
        return
    from secondlook.evaluation.records import Results
    from secondlook.evaluation.report.console import comparisons, drawn

    for table in comparisons(Results(comparisons=found.comparisons)):
        for part in drawn(table):
            output().print(part)
    for line in found.lines:
        output().print(line)


@over_a_set("thresholds")
def thresholds(
    call: Call,
    request: Request,
    *,
    param: Annotated[
        str | None, typer.Option(metavar="KEY", help="The setting to vary, such as answer.k.")
    ] = None,
    values: Annotated[
        str | None, typer.Option(metavar="LIST", help="Its values, such as 1,3,5.")
    ] = None,
    workflow: Annotated[
        str | None, typer.Option(metavar="NAME", help="The workflow that reads it.")
    ] = None,
) -> int:
    """What a threshold, or any other number among the settings, does to the answers."""
    from secondlook.cli.evaluate_progress import watched
    from secondlook.evaluation.evaluating import evaluate_sweep

    if param is not None:  # each has a folder of its own: the next must not replace it
        request = replace(request, study=f"{request.study}-{param}")
    with watched(call) as progress:
        results = evaluate_sweep(
            request, param=param, values=values, workflow=workflow, progress=progress
        )
    show(call, results, request.folder)
    return 0


@over_a_set("hypotheses")
def hypotheses(call: Call, request: Request) -> int:
    """Whether rewriting, grading and retrying do what is claimed for them."""
    from secondlook.cli.evaluate_progress import watched
    from secondlook.evaluation.evaluating import evaluate_hypotheses

    with watched(call) as progress:
        results = evaluate_hypotheses(request, progress=progress)
    show(call, results, request.folder)
    return 0
