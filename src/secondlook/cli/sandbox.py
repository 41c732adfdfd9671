"""`secondlook sandbox`: what confines code here, whether it holds, and scripts run in it."""

from __future__ import annotations

import base64
import math
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from secondlook.cli.command import (
    Call,
    argument,
    command,
    counted,
    group_of,
    harmless,
    one_line,
    option,
    print_json,
)
from secondlook.cli.search import parse_tables
from secondlook.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from secondlook.sandbox.port import Outcome, Supplied

Backend = Literal["auto", "namespaces", "plain"]
_SHOWN_ROWS = 20
BackendOption = Annotated[
    Backend | None,
    typer.Option("--backend", help="Which way to confine code, instead of sandbox.backend."),
]


@command()
def list_(call: Call) -> int:
    """List the ways to confine code, and which of them work here."""
    from secondlook.sandbox import available

    found = available()
    usable = next((verdict.name for verdict in found if verdict.usable), None)
    if call.as_json:
        print_json({"default": usable, "backends": [asdict(verdict) for verdict in found]})
    else:
        for verdict in found:
            mark = "ok" if verdict.usable else "--"
            sys.stdout.write(f"  {mark}  {verdict.name}: {one_line(verdict.why)}\n")
        call.say(f"auto takes {usable}." if usable else "Generated code is not run here.")
    return 0 if usable else 1


@command("\b\nExit code 1: an attack succeeded. Example:\n  secondlook sandbox check\n")
def check(call: Call, *, backend: BackendOption = None) -> int:
    """Attack the sandbox, and say what was blocked."""
    from secondlook.sandbox.self_check import self_check

    call.say("Attacking the sandbox ...")
    report = self_check(backend or call.load().settings.sandbox.backend)
    if call.as_json:
        print_json(asdict(report))
        return 0 if report.holds else 1
    width = max(len(attack.name) for attack in report.attacks)
    for attack in report.attacks:
        mark = "ok" if attack.blocked else "!!"
        sys.stdout.write(f"  {mark}  {attack.name:<{width}}  {one_line(attack.how)}\n")
    made = f"{counted(len(report.attacks), 'attack')} on {report.backend}"
    if report.holds:
        call.say(f"{made}: all were blocked.")
        return 0
    call.say(f"{made}: {len(report.succeeded)} succeeded. Do not run untrusted code here.")
    return 1


@command(
    """\
\b
The script finds its tables as tables["name"] (and as df where there is one),
leaves its value in result and its charts in fig. Examples:
  secondlook sandbox run chart.py --table sales.csv --figures charts
  echo "result = 6 * 7" | secondlook sandbox run -
"""
)
def run(
    call: Call,
    *,
    file: str = argument(..., "The script; - reads it here.", "FILE.py"),
    table: list[str] | None = option(None, "CSV, Parquet, Excel; repeatable.", "[NAME=]FILE"),
    backend: BackendOption = None,
    seconds: float | None = option(None, "Until it is stopped.", "S", min=0.1, max=600),
    memory: int | None = option(None, "Memory that it may use.", "MB", min=16, max=65536),
    figures: Path | None = option(None, "Where to save the charts.", "FOLDER"),
) -> int:
    """Run a Python script where it can harm nothing."""
    from secondlook.sandbox import open_sandbox
    from secondlook.sandbox.port import limits_for

    settings = call.load().settings
    try:
        code = sys.stdin.read() if file == "-" else Path(file).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        said = f"{file!r} cannot be read: {error}"
        raise UsageError(said, hint="Name a script, or -.") from error
    limits = limits_for(
        seconds=seconds or settings.sandbox.seconds, megabytes=memory or settings.sandbox.memory
    )
    with _supplied(parse_tables(table) or {}) as tables:
        sandbox = open_sandbox(backend or settings.sandbox.backend)
        try:
            outcome = sandbox.run(code, tables, limits=limits)
        finally:
            sandbox.close()
    try:
        saved = _save_figures(outcome, figures) if figures else []
    except OSError as error:
        raise UsageError(f"Charts cannot be saved in {str(figures)!r}: {error}") from error
    if call.as_json:
        # As JSON; numbers that it does not know are texts: "nan", "inf", "-inf".
        form: Any = _plain(asdict(outcome))
        print_json({"backend": sandbox.name, **form, "saved": saved})
    else:
        _print(call, outcome)
        for place in saved:
            call.say(f"saved {place}")
    return 0 if outcome.status == "ok" else 1


def _print(call: Call, outcome: Outcome) -> None:
    """What it printed and its value go to stdout, all else to stderr."""
    sys.stdout.write(harmless(outcome.stdout))
    if outcome.stdout_cut:
        call.say("(more was printed than is kept)")
    frames = {"": outcome.frame} if outcome.frame is not None else {}
    for name, frame in (frames | dict(outcome.frames)).items():
        shown = frame.rows[:_SHOWN_ROWS]
        for row in ([name] if name else [], frame.columns, *shown):
            if row:
                sys.stdout.write("\t".join(one_line(str(cell)) for cell in row) + "\n")
        if frame.total_rows > len(shown):
            sys.stdout.write(f"... and {frame.total_rows - len(shown):,} more rows\n")
    if outcome.has_result and outcome.frame is None:
        sys.stdout.write(f"{one_line(repr(outcome.result))}\n")
    if outcome.figures:
        call.say(f"It drew {len(outcome.figures)}; --figures FOLDER saves them.")
    if (failure := outcome.failure) is not None:
        sys.stderr.write(f"error: {one_line(failure.kind)}: {one_line(failure.message)}\n")
        if failure.line is not None:
            sys.stderr.write(f"  line {failure.line}: {one_line(failure.code or '')}\n")
    call.say(f"{outcome.status}, {outcome.seconds:.2f} s, {outcome.memory / 1_048_576:.0f} MB")


@contextmanager
def _supplied(files: Mapping[str, Path]) -> Iterator[Sequence[Supplied]]:
    """Each table as a Parquet file of ours: what the script reads was read by us before."""
    from secondlook.sandbox.port import Supplied

    if not files:
        yield ()
        return
    from secondlook.tables.read import read_tables
    from secondlook.tables.worker import Worker

    with tempfile.TemporaryDirectory() as folder, Worker() as worker:
        found: list[Supplied] = []
        for name, file in files.items():
            tables = read_tables(file, Path(folder), worker=worker, name=name)
            alone = len(tables) == 1
            found += [Supplied(name if alone else one.table.name, one.file) for one in tables]
        yield found


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _save_figures(outcome: Outcome, folder: Path) -> list[str]:
    saved = []
    folder.mkdir(parents=True, exist_ok=True)
    for number, figure in enumerate(outcome.figures, start=1):
        png = figure.kind == "png"
        place = folder / f"figure-{number}.{'png' if png else 'json'}"
        place.write_bytes(base64.b64decode(figure.data) if png else figure.data.encode())
        saved.append(str(place))
    return saved


def group() -> typer.Typer:
    examples = """\
\b
Code that a model wrote can compute and nothing else (docs/sandbox.md). Examples:
  secondlook sandbox check               attack it, and say what happened
  secondlook sandbox run analysis.py --table sales.csv
"""
    about = "Where generated code is run, and whether it holds."
    return group_of(about, examples, list_, list=list_, check=check, run=run)
