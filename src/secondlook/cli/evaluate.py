"""`secondlook eval`: how good the answers are on questions whose answers are known."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

import typer
from typer.core import TyperGroup

from secondlook.cli.ask import ModelOption, PresetOption, RiskOption, check_max_risk
from secondlook.cli.command import (
    Call,
    add_commands,
    argument,
    command,
    counted,
    flag,
    one_line,
    option,
    output,
    parse_pairs,
    print_json,
)
from secondlook.cli.progress import evaluation_watched
from secondlook.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from secondlook.evaluation.records import Results
    from secondlook.evaluation.runner import Request

# What every command that answers the questions of a set takes: the set and how to go about it.

_OPTIONS: dict[str, tuple[Any, object]] = {
    "folder": (Path, argument(..., "The questions and their documents.", "FOLDER")),
    "model": (ModelOption, None),
    "set_": (list[str] | None, option(None, "A setting; repeatable.", "KEY=VALUE", "--set")),
    "preset": (PresetOption, None),
    "max_risk": (RiskOption, None),
    "threads": (str | None, option(None, "Of an exam, threads with such numbers.", "odd|even")),
    "limit": (int | None, option(None, "So many questions, drawn by the seed.", "N", min=1)),
    "seed": (int, option(0, "Of the draw and of the statistics.", "S")),
    "repeat": (int, option(1, "Ask each question so many times.", "R", min=1)),
    "jobs": (int, option(1, "Questions at once, for models elsewhere.", "J", min=1)),
    "out": (Path | None, option(None, "Where results go.", "DIR", file_okay=False)),
    "metric": (str | None, option(None, "Which metric decides (docs/metrics.md).", "NAME")),
    "fresh": (bool, flag("--fresh", "Ask again what an earlier run has asked.")),
}


def over_a_set(
    study: str = "", epilog: str = ""
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """A command `(call, request, ...)` with its own options and those of every evaluation."""

    def decorate(function: Callable[..., int]) -> Callable[..., int]:
        read = partial(_request, study)
        return command(epilog, library=False, shared=_OPTIONS, read=read)(function)

    return decorate


def _request(study: str, _call: Call, *, folder: Path, **options: Any) -> Request:
    from secondlook.evaluation.runner import Request

    model, max_risk = options.pop("model"), options.pop("max_risk")
    check_max_risk(max_risk)
    return Request(
        folder.expanduser(),
        flags={"models.default": model, "answer.max_risk": max_risk},
        texts=parse_pairs(options.pop("set_"), "--set"),
        command=shlex.join(["secondlook", *sys.argv[1:]]),
        study=study,
        **options,
    )


# What an evaluation prints: tables for a person, summaries for a program.

_MOST_TOLD = 5


def show(call: Call, results: Results, folder: Path) -> None:
    if call.as_json:
        print_json(results.model_dump(mode="json", exclude={"rows"}))
        return
    from secondlook.evaluation.report.tables import render

    data = results.data
    problems = data.get("problems", ())
    unused = [f"not used: {one['file']}:{one['line'] or ''}: {one['reason']}" for one in problems]
    unread = [f"not indexed: {name}: {why}" for name, why in data.get("not_indexed", {}).items()]
    for lines, number in ((unused, data.get("problem_count", 0)), (unread, len(unread))):
        for line in lines[:_MOST_TOLD]:
            call.say(line)
        if number > _MOST_TOLD:
            call.say(f"... and {number - _MOST_TOLD:,} more; results.json names them")
    for note in data.get("notes", ()):
        call.say(f"note: {note}")
    for part in render(results):
        output().print(part)
    # Figures of a model that was never reached are not its own.
    told = Counter(warning for row in results.rows for warning in set(row.warnings))
    for warning, number in told.most_common(_MOST_TOLD):
        call.say(f"warning: {number:,} of {len(results.rows):,} answers: {one_line(warning)}")
    if told:
        call.say("results.csv has all warnings; --fresh asks again, paid replies cost nothing")
    if number := sum(row.needs_review for row in results.rows):
        call.say(f"To be reviewed: {counted(number, 'answer')}, needs_review in results.csv")
    call.say(f"Results: {folder / 'results.json'}, {folder / 'report.html'}")


class EvalGroup(TyperGroup):
    """`secondlook eval FOLDER` means `run`, in its help too; `secondlook eval` asks for help."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        args = args or ["--help"]
        if args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = ["run", *args]
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        self.commands["run"].format_options(ctx, formatter)
        self.format_commands(ctx, formatter)


@over_a_set(
    epilog="""\
\b
FOLDER holds corpus.jsonl and queries.jsonl (docs/data.md), or your own
documents with a questions.csv beside them:
  question,answer
  "How deep is berth 4?",7.8 metres

\b
Ctrl-C keeps what is done; the same command goes on. Examples:
  secondlook eval squad2-dev --workflow linear,adaptive --limit 500
  secondlook eval squad2-dev --ablate          which steps pay
"""
)
def run(
    call: Call,
    request: Request,
    *,
    workflow: str | None = option(None, "Workflows to evaluate, such as linear,adaptive.", "NAMES"),
    web: bool = flag("--web", "Also with web search where a workflow has it, as NAME+web."),
    ablate: bool = flag("--ablate", "Switch each step off, or on, and say what it buys."),
    margin: float = option(0.02, "With --ablate: a loss that does not matter.", min=0, max=1),
) -> int:
    """Answer every question of a set, and say how good the answers are."""
    if ablate:  # what a plain evaluation has found stays where it is
        request = replace(request, study="ablation")
    from secondlook.evaluation.study import evaluate, evaluate_ablation

    workflows = [name.strip() for name in (workflow or "").split(",") if name.strip()]
    work = partial(evaluate_ablation, margin=margin) if ablate else partial(evaluate, web=web)
    return _evaluated(call, request, partial(work, request, workflows))


def _evaluated(call: Call, request: Request, work: Callable[..., Results]) -> int:
    with evaluation_watched(call) as progress:
        results = work(progress=progress)
    show(call, results, request.folder)
    return 0


REGRESSED = 1


@command("\b\nNothing is asked again.\n", library=False)
def report(
    call: Call, *, directory: Path = argument(..., "Where an evaluation put its results.", "DIR")
) -> int:
    """Draw tables, plots and report once more, from results.json alone."""
    from secondlook.evaluation import report as reports
    from secondlook.evaluation import study

    found = study.read(directory)
    folder = directory if directory.is_dir() else directory.parent
    reports.write(found, folder)
    show(call, found, folder)
    return 0


@command("\b\nWith --gate the exit code is 1 for a loss that is more than chance.\n", library=False)
def compare(
    call: Call,
    *,
    a: Path = argument(..., "Results to hold against.", "A"),
    b: Path = argument(..., "Results that are new.", "B"),
    metric: str | None = option(None, "Which metric decides (docs/metrics.md).", "NAME"),
    gate: bool = flag("--gate", "Exit with 1 if B is significantly worse."),
) -> int:
    """Hold the results of one evaluation against those of another."""
    from secondlook.evaluation import study
    from secondlook.evaluation.comparison import gate as held_against

    found = held_against(study.read(a), study.read(b), metric=metric)
    if call.as_json:
        pairs = [item.model_dump(mode="json") for item in found.comparisons]
        print_json({"lost": list(found.lost), "said": list(found.lines), "comparisons": pairs})
    else:
        from secondlook.evaluation.report.tables import compared, drawn

        call.say(f"A is {a}, B is {b}; each change is B less A")
        for table in compared(found.comparisons):
            for part in drawn(table):
                output().print(part)
        for line in found.lines:
            output().print(line)
    return REGRESSED if gate and found.failed else 0


@over_a_set("thresholds", "\b\n  secondlook eval thresholds SET --param answer.k --values 3,5,10\n")
def thresholds(
    call: Call,
    request: Request,
    *,
    param: str | None = option(None, "The setting to vary, such as answer.k.", "KEY"),
    values: str | None = option(None, "Its values, such as 1,3,5.", "LIST"),
    workflow: str | None = option(None, "The workflow that reads it.", "NAME"),
) -> int:
    """What a threshold, or any other number among the settings, does to the answers."""
    from secondlook.evaluation.study import evaluate_sweep

    if param is not None:  # each has a folder of its own: the next must not replace it
        request = replace(request, study=f"{request.study}-{param}")
    work = partial(evaluate_sweep, request, param=param, values=values, workflow=workflow)
    return _evaluated(call, request, work)


@command(
    "\b\nIts empty cells are for you to fill. Example:\n  secondlook eval feedback questions.csv\n"
)
def feedback(
    call: Call,
    *,
    file: Path = argument(..., "A new file, as `eval` and `calibrate` read it.", "FILE"),
) -> int:
    """Make a sheet of the questions whose answers you judged on the page."""
    from secondlook.evaluation.datasets.own import write_feedback

    if file.exists():
        raise UsageError(f"{str(file)!r} is there already", hint="name a new file")
    settings = call.load().settings
    count = write_feedback(settings.runs, settings.library.path, file)
    said = f"Wrote {counted(count, 'judged question')} to {file}."
    call.tell({"questions": count, "file": str(file.absolute())}, said)
    return 0


def group() -> typer.Typer:
    made = typer.Typer(
        help="How good the answers are, on questions whose answers are known.",
        cls=EvalGroup,
        epilog=run.epilog,  # type: ignore[attr-defined]
        subcommand_metavar="FOLDER | COMMAND [ARGS]...",
    )
    add_commands(made, {"run": run}, hidden=True)
    add_commands(
        made, {"report": report, "compare": compare, "thresholds": thresholds, "feedback": feedback}
    )
    return made


# `secondlook calibrate`: what confidence is worth on your own documents.

_FIGURES = (
    ("ECE (lower is better)", "ece"),
    ("Brier score (lower is better)", "brier"),
    ("AUROC, right or wrong", "auroc"),
)


@command(
    """\
\b
FOLDER is a questions.csv about your library (question, answer, answerable),
or the folder that holds one.
Ctrl-C changes nothing; the same command goes on (docs/confidence.md). Example:
  secondlook calibrate questions.csv --dry-run
  secondlook calibrate --from feedback     answers that you judged on the page
"""
)
def calibrate(
    call: Call,
    *,
    folder: Path | None = argument(None, "Questions with known answers.", "[FOLDER]"),
    from_: Literal["feedback"] | None = option(
        None, "The answers that you judged.", None, "--from"
    ),
    questions: int = option(400, "At most so many questions.", "N"),
    seed: int = option(0, "Of the draw.", "S"),
    dry_run: bool = flag("--dry-run", "Store nothing."),
    force: bool = flag("--force", "Store it even where it is no better."),
    show: bool = flag("--show", "Say what is in use, and end."),
    remove: bool = flag("--remove", "Go back to the shipped calibration."),
) -> int:
    """Fit the probability that an answer is right to your own documents."""
    from secondlook.evaluation import calibration
    from secondlook.evaluation.datasets.own import write_feedback

    if remove or show:
        return _in_use(call, remove=remove)
    if (folder is None) == (from_ is None):
        hint = "secondlook calibrate questions.csv, or --from feedback (docs/confidence.md)"
        raise UsageError("give either questions or --from feedback", hint=hint)
    settings = call.load().settings
    with evaluation_watched(call) as progress, TemporaryDirectory() as scratch:
        if folder is None:
            folder = Path(scratch) / "feedback.csv"
            write_feedback(settings.runs, settings.library.path, folder)
        how: dict[str, Any] = {"seed": seed, "dry_run": dry_run, "force": force}
        how |= {"settings": settings, "progress": progress}
        report = calibration.calibrate(settings.library.path, folder, most=questions, **how)
    for note in report["notes"]:
        call.say(f"note: {note}")
    if call.as_json:
        print_json(report)
        return 0
    asked = f"{counted(report['answered'], 'answer')} to questions from {report['source']}"
    sys.stdout.write(f"{asked}, judged by fits that have not seen their documents\n\n")
    sys.stdout.write("\n".join(_figures(report["before"], report["after"])) + "\n")
    if report["stored"] or dry_run:
        call.say(f"Stored: {report['stored'] or 'nothing (--dry-run)'}")
    return 0


def _figures(before: dict[str, Any] | None, after: dict[str, Any]) -> Iterator[str]:
    def row(name: str, key: str, at: int | None = None) -> str:
        cells = []
        for judged in (before, after):
            held = judged if judged is None or at is None else judged["promises"][at]
            value = held[key] if held else None
            cells.append("-" if value is None else f"{value:.3f}".replace("0.", ".", 1))
        return name.ljust(34) + "".join(f"{one:>9}" for one in cells)

    yield f"{'':<34}{'before':>9}{'after':>9}"
    for name, key in _FIGURES:
        yield row(name, key)
    for at, promise in enumerate(after["promises"]):
        yield row(f"--max-risk {promise['max_risk']:.2f}: wrong", "risk", at)
        yield row(f"{'':<16} answered", "coverage", at)


def _in_use(call: Call, *, remove: bool) -> int:
    from secondlook.evaluation import calibration

    with call.open() as library:
        if remove:
            removed = calibration.remove(library.path)
            said = "The shipped calibration is in use." if removed else "There is none."
            call.tell({"removed": removed}, said)
            return 0
        found = calibration.in_use(library)
    if call.as_json:
        print_json(found)
        return 0
    whose = {"shipped": "the shipped one", "library": "the library's own", "none": "none"}
    facts = {"calibration": whose[found["source"]], "reader": found["reader"]}
    if found["file"]:
        asked = str(found["data"].get("questions", "?"))
        facts |= {"file": found["file"], "made": found["made"] or "?", "questions": asked}
    if found["warning"]:
        facts["warning"] = found["warning"]
    for risk, at in found["thresholds"].items():
        from_ = "nothing can be promised" if at is None else f"from {at:.3f} on"
        facts[f"--max-risk {risk}"] = from_
    for name, value in facts.items():
        sys.stdout.write(f"{name:<16}{value}\n")
    return 0
