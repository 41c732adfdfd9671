"""`secondlook eval`: how good the answers are on questions whose answers are known."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from secondlook.cli.call import Call  # noqa: TC001  # a command's signature is read
from secondlook.cli.evaluate_options import over_a_set
from secondlook.cli.evaluate_showing import show
from secondlook.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.evaluation.evaluating import Request
    from secondlook.evaluation.records import Results

HELP = "How good the answers are, on questions whose answers are known."
EXAMPLES = """\
\b
FOLDER holds corpus.jsonl and queries.jsonl (docs/data.md), or is a SQuAD file,
a BEIR folder, or your own documents with a questions.csv beside them:
  question,answer
  "How deep is berth 4?",7.8 metres

\b
Examples:
  secondlook eval ~/papers
  secondlook eval squad2-dev --workflow linear,adaptive --limit 500
  secondlook eval squad2-dev --set answer.k=3 --out k3
  secondlook eval squad2-dev --ablate          which steps pay
  secondlook eval thresholds squad2-dev        what a threshold does
  secondlook eval hypotheses squad2-dev        do rewriting and grading help
  secondlook eval compare a/results.json b/results.json --gate
  secondlook eval report secondlook-eval/squad2-dev

\b
Ctrl-C keeps what is done; the same command goes on. docs/evaluation.md has more.
"""


class EvalGroup(TyperGroup):
    """`secondlook eval FOLDER` without the name of a command means `run`, in its help too; with
    nothing at all it is a question for help, as `secondlook` alone is."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        args = args or ["--help"]
        if args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = ["run", *args]
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        self.commands["run"].format_options(ctx, formatter)
        self.format_commands(ctx, formatter)


def register(app: typer.Typer) -> None:
    from secondlook.cli import evaluate_injection, evaluate_studies

    group = typer.Typer(
        help=HELP,
        cls=EvalGroup,
        epilog=EXAMPLES,
        subcommand_metavar="FOLDER | COMMAND [ARGS]...",
    )
    group.command("run", epilog=EXAMPLES, hidden=True)(run)
    evaluate_studies.register(group)
    evaluate_injection.register(group)
    app.add_typer(group, name="eval")


@over_a_set()
def run(
    call: Call,
    request: Request,
    *,
    workflow: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Workflows to evaluate, such as linear,adaptive."),
    ] = None,
    ablate: Annotated[
        bool, typer.Option("--ablate", help="Switch each step off, or on, and say what it buys.")
    ] = False,
    margin: Annotated[
        float, typer.Option(min=0, max=1, help="With --ablate: a loss that does not matter.")
    ] = 0.02,
    write: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="With --ablate: keep the cheapest as this preset."),
    ] = None,
) -> int:
    """Answer every question of a set, and say how good the answers are."""
    if write is not None and not ablate:
        raise UsageError("--write needs --ablate", hint="add --ablate: it names what to keep")
    if ablate:  # what a plain evaluation has found stays where it is
        request = replace(request, study="ablation")
    results = _evaluated(call, request, names(workflow), ablate=ablate, margin=margin)
    show(call, results, request.folder)
    if write is not None:
        keep_preset(call, results, write)
    return 0


def _evaluated(
    call: Call, request: Request, workflows: Sequence[str], *, ablate: bool, margin: float
) -> Results:
    from secondlook.cli.evaluate_progress import watched
    from secondlook.evaluation.evaluating import evaluate, evaluate_ablation

    with watched(call) as progress:
        if ablate:
            return evaluate_ablation(request, workflows, margin=margin, progress=progress)
        return evaluate(request, workflows, progress=progress)


def names(given: str | None) -> list[str]:
    """`linear,adaptive` as a list."""
    return [name.strip() for name in (given or "").split(",") if name.strip()]


def keep_preset(call: Call, results: Results, name: str) -> None:
    from secondlook.evaluation.profile import write_profile

    path = write_profile(results, name)
    call.say(f"Kept as {path}; use it with --preset {name}")
