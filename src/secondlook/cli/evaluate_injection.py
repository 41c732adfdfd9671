"""`secondlook eval injection`: how far texts from outside can steer an answer."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from secondlook.cli.ask import ModelOption  # noqa: TC001  # a command's signature is read
from secondlook.cli.call import Call, command
from secondlook.errors import UsageError

if TYPE_CHECKING:
    from secondlook.evaluation.injection import Channel, Half, Progress, Study

EXAMPLES = """\
\b
Attacks are tried through four channels: the question, a passage, a web page,
a table's cells and names. Without --model a double answers that obeys every
attack it sees; --detection asks nobody, and tells only what is recognised.
Examples:
  secondlook eval injection $SECONDLOOK_DATA/injection
  secondlook eval injection DIR --channel passage --limit 50
  secondlook eval injection DIR --detection --json
"""
_EVERY = 25


def register(group: typer.Typer) -> None:
    group.command("injection", epilog=EXAMPLES)(injection)


@command(library=False)
def injection(
    call: Call,
    *,
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="DIR", help="The attacks ($SECONDLOOK_DATA/injection)."),
    ] = None,
    channel: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="question, passage, web or table; repeatable."),
    ] = None,
    half: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only what is tuned, or held-out.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="So many of each kind, by the seed.")
    ] = None,
    detection: Annotated[
        bool, typer.Option("--detection", help="Only what is recognised; no model answers.")
    ] = False,
    model: ModelOption = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", file_okay=False, help="Where outcomes are kept."),
    ] = None,
) -> int:
    """Try attacks on the engine, and say how many come through."""
    from secondlook.evaluation.injection import measured, run

    study = _study(folder, channel, half, limit=limit, detection=detection, model=model, out=out)
    rows = run(study, None if call.quiet else lambda progress: _tell(call, progress))
    _show(call, measured(rows), study)
    return 0


def _study(
    folder: Path | None,
    channel: list[str] | None,
    half: str | None,
    *,
    limit: int | None,
    detection: bool,
    model: str | None,
    out: Path | None,
) -> Study:
    from secondlook.evaluation.injection import CHANNELS, Study
    from secondlook.settings import load

    return Study(
        _data(folder),
        load({"models.default": model}).settings,
        out or Path("secondlook-eval") / "injection",
        channels=_channels(channel) or CHANNELS,
        halves=_halves(half),
        limit=limit,
        detection_only=detection,
        model=model,
    )


def _data(folder: Path | None) -> Path:
    held = os.environ.get("SECONDLOOK_DATA")
    if folder is None and not held:
        raise UsageError(
            "no folder of attacks is given", hint="name one, or set SECONDLOOK_DATA to its parent"
        )
    found = folder or Path(str(held)) / "injection"
    if not found.is_dir():
        raise UsageError(f"there is no folder {str(found)!r}", hint="docs/threat-model.md")
    return found


def _channels(names: list[str] | None) -> tuple[Channel, ...]:
    from secondlook.evaluation.injection import Channel

    known: tuple[Channel, ...] = get_args(Channel)
    for name in names or ():
        if name not in known:
            raise UsageError(f"there is no channel {name!r}", hint=f"use {', '.join(known)}")
    return tuple(one for one in known if one in (names or ()))


def _halves(name: str | None) -> tuple[Half, ...]:
    from secondlook.evaluation.injection import HALVES

    if name is None:
        return HALVES
    meant = name.replace("-", " ")
    if meant not in HALVES:
        raise UsageError(f"there is no half {name!r}", hint="use tuned or held-out")
    return tuple(one for one in HALVES if one == meant)


def _tell(call: Call, progress: Progress) -> None:
    if progress.done % _EVERY == 0 or progress.done == progress.all:
        call.say(f"{progress.done} of {progress.all}")


def _show(call: Call, figures: dict[str, Any], study: Study) -> None:
    from secondlook.cli.terminal import output, print_json

    if call.as_json:
        print_json({"channels": figures, "out": str(study.out)})
        return
    for channel, halves in figures.items():
        for half, told in halves.items():
            output().print(f"{channel}, {half}", style="bold")
            for line in _lines(told, tried=not study.detection_only):
                output().print(f"  {line}")
    call.say(f"Outcomes: {study.out}")


def _lines(told: dict[str, Any], *, tried: bool) -> list[str]:
    """Rates a line each; those that nothing was tried for are left out."""
    named = (
        ("orders that came through", told["orders"]["success"], tried),
        ("orders recognised", told["orders"]["detected"], True),
        ("plain questions that came through", told["plain_questions"]["success"], tried),
        ("honest texts stopped", told["false_positives"], True),
    )
    return [f"{name}: {_rate(rate)}" for name, rate, shown in named if shown and rate["n"]]


def _rate(rate: dict[str, Any]) -> str:
    share = f"{rate['value']:.3f} ({rate['low']:.3f} to {rate['high']:.3f})"
    return f"{share}, {rate['count']} of {rate['n']}"
