"""`secondlook calibrate`: what confidence is worth on your own documents."""

from __future__ import annotations

import sys
from pathlib import Path  # noqa: TC003  # typer reads the annotations
from typing import TYPE_CHECKING, Annotated

import typer

from secondlook.cli.call import Call, command
from secondlook.cli.terminal import counted, print_json
from secondlook.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secondlook.calibrating import CalibrationReport, InUse
    from secondlook.calibrating.judging import Judgement

EXAMPLES = """\
\b
FOLDER is a questions.csv about your library (question, answer, answerable),
or any set that `secondlook eval` reads. Without it, questions are made from
the documents of the library itself.

\b
Examples:
  secondlook calibrate                          on questions made from the library
  secondlook calibrate questions.csv            on your own questions
  secondlook calibrate --dry-run --plot reliability.svg
  secondlook calibrate --show                   what is in use
  secondlook calibrate --remove                 back to what was shipped

\b
Ctrl-C changes nothing; the same command goes on. docs/confidence.md has more.
"""
_FIGURES = (
    ("ECE (lower is better)", "ece"),
    ("Brier score (lower is better)", "brier"),
    ("AUROC, right or wrong", "auroc"),
)


def register(app: typer.Typer) -> None:
    app.command("calibrate", epilog=EXAMPLES)(calibrate)


@command()
def calibrate(
    call: Call,
    *,
    folder: Annotated[
        Path | None, typer.Argument(metavar="[FOLDER]", help="Questions with known answers.")
    ] = None,
    from_library: Annotated[
        bool,
        typer.Option("--from-library", help="Make the questions from the library (default)."),
    ] = False,
    questions: Annotated[int, typer.Option(metavar="N", help="At most so many questions.")] = 400,
    seed: Annotated[int, typer.Option(metavar="S", help="Of the draw.")] = 0,
    split: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of a BEIR folder: test, dev or train.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the reliability (.svg or .png).")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Store nothing.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Store it even where it is no better.")
    ] = False,
    show: Annotated[bool, typer.Option("--show", help="Say what is in use, and end.")] = False,
    remove: Annotated[
        bool, typer.Option("--remove", help="Go back to the shipped calibration.")
    ] = False,
) -> int:
    """Fit the probability that an answer is right to your own documents."""
    _check_options(folder, from_library=from_library, show=show, remove=remove)
    if remove:
        return _remove(call)
    if show:
        return _show(call)
    report = _calibrated(
        call,
        folder,
        plot=plot,
        most=questions,
        seed=seed,
        split=split,
        dry_run=dry_run,
        force=force,
    )
    _tell(call, report, dry_run=dry_run)
    return 0


def _check_options(folder: Path | None, *, from_library: bool, show: bool, remove: bool) -> None:
    if folder is not None and from_library:
        raise UsageError(
            f"--from-library makes its own questions, and {str(folder)!r} brings others",
            hint="leave one of them out",
        )
    if show and remove:
        raise UsageError("--show and --remove do not go together", hint="leave one of them out")


def _calibrated(
    call: Call, folder: Path | None, *, plot: Path | None, **options: object
) -> CalibrationReport:
    from secondlook.calibrating import calibrate
    from secondlook.calibrating.plotting import check_picture, draw
    from secondlook.cli.evaluate_progress import watched

    if plot is not None:
        plot = plot.expanduser()
        check_picture(plot)
    settings = call.load().settings
    with watched(call) as progress:
        report = calibrate(
            settings.library.path,
            folder,
            settings=settings,
            progress=progress,
            **options,  # type: ignore[arg-type]  # typer has checked them
        )
    if plot is not None:
        draw(report, plot)
        call.say(f"Plot: {plot}")
    return report


def _tell(call: Call, report: CalibrationReport, *, dry_run: bool) -> None:
    for note in report.notes:
        call.say(f"note: {note}")
    if call.as_json:
        print_json(report.as_data())
        return
    from secondlook.calibrating.plotting import as_text

    kinds = ", ".join(f"{number} {kind}" for kind, number in report.asked.items())
    sys.stdout.write(
        f"{counted(report.answered, 'answer')} to questions from {report.source} ({kinds}), "
        "judged by fits that have not seen their documents\n\n"
    )
    sys.stdout.write("\n".join(_figures(report)) + "\n\n" + as_text(report) + "\n")
    if report.stored:
        call.say(f"Stored: {report.stored}")
    elif dry_run:
        call.say("Nothing stored (--dry-run).")


def _figures(report: CalibrationReport) -> Iterator[str]:
    before, after = report.before, report.after
    yield f"{'':<34}{'before':>9}{'after':>9}"
    for name, key in _FIGURES:
        yield _row(name, *(_number(getattr(one, key)) if one else "-" for one in (before, after)))
    for at, promise in enumerate(after.promises):
        yield _row(
            f"--max-risk {promise.max_risk:.2f}: wrong",
            *(_wrong(one, at) for one in (before, after)),
        )
        yield _row(f"{'':<11}{'':>5} answered", *(_covered(one, at) for one in (before, after)))


def _row(name: str, before: str, after: str) -> str:
    return f"{name:<34}{before:>9}{after:>9}"


def _wrong(judgement: Judgement | None, at: int) -> str:
    risk = judgement.promises[at].risk if judgement else None
    return "-" if risk is None else _number(risk)


def _covered(judgement: Judgement | None, at: int) -> str:
    return _number(judgement.promises[at].coverage) if judgement else "-"


def _number(value: float) -> str:
    return f"{value:.3f}".replace("0.", ".", 1)


def _remove(call: Call) -> int:
    from secondlook.calibrating import remove

    with call.open() as library:
        removed = remove(library.path)
    if call.as_json:
        print_json({"removed": removed})
    elif removed:
        call.say("Removed: the shipped calibration is in use again.")
    else:
        call.say("The library has no calibration of its own.")
    return 0


def _show(call: Call) -> int:
    from secondlook.calibrating import in_use

    with call.open() as library:
        found = in_use(library)
    if call.as_json:
        print_json(_form(found))
        return 0
    for name, value in _facts(found):
        sys.stdout.write(f"{name:<16}{value}\n")
    return 0


def _form(found: InUse) -> dict[str, object]:
    return {
        "source": found.source,
        "reader": found.reader,
        "file": found.file,
        "made": found.made,
        "data": found.data,
        "warning": found.warning,
        "thresholds": {f"{risk:.2f}": at for risk, at in found.thresholds.items()},
    }


def _facts(found: InUse) -> Iterator[tuple[str, str]]:
    said = {
        "shipped": "the shipped one",
        "library": "the library's own",
        "none": "none: this reader has not been calibrated",
    }
    yield "calibration", said[found.source]
    yield "reader", found.reader
    if found.file:
        yield "file", found.file
        yield "made", found.made or "?"
        yield "questions", str(found.data.get("questions", "?"))
    if found.warning:
        yield "warning", found.warning
    for risk, threshold in found.thresholds.items():
        from_ = "nothing can be promised" if threshold is None else f"from {threshold:.3f} on"
        yield f"--max-risk {risk:.2f}", from_
