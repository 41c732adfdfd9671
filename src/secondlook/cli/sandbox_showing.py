"""How a check of the sandbox and a script that ran in it are shown."""

from __future__ import annotations

import base64
import math
import sys
import time
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING

from secondlook.cli.terminal import harmless, one_line
from secondlook.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from secondlook.cli.call import Call
    from secondlook.sandbox.attacks import Attack
    from secondlook.sandbox.port import Frame, Outcome

    Listener = Callable[[int, int, Attack], None]

_SECONDS_BETWEEN_LINES = 10.0
_SHOWN_ROWS = 20
_MEGABYTE = 1_048_576
_STARTING = "starting the sandbox"


@contextmanager
def watched(call: Call) -> Iterator[Listener | None]:
    """A bar for a person, a line now and then for a log, nothing for who wants quiet."""
    if call.quiet:
        yield None
    elif call.shows_progress:
        with _bar() as listen:
            yield listen
    else:
        yield _lines(call)


def _lines(call: Call) -> Listener:
    last = time.monotonic()

    def listen(number: int, total: int, attack: Attack) -> None:
        nonlocal last
        if time.monotonic() - last >= _SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            call.say(f"{number} of {total} attacks made; now: {attack.name}")

    return listen


@contextmanager
def _bar() -> Iterator[Listener]:
    from rich.progress import BarColumn, Progress, TextColumn

    from secondlook.cli.terminal import messages

    columns = (BarColumn(), TextColumn("{task.completed:.0f} {task.description}"))
    with Progress(*columns, console=messages(), transient=True) as bar:
        task = bar.add_task(_STARTING, total=None)

        def listen(number: int, total: int, attack: Attack) -> None:
            said = f"of {total} attacks: {attack.what}"
            bar.update(task, completed=number, total=total, description=said)

        yield listen


def print_outcome(call: Call, outcome: Outcome, saved: Sequence[str]) -> None:
    """What it printed and its value go to stdout, all else to stderr."""
    sys.stdout.write(harmless(outcome.stdout))
    if outcome.stdout_cut:
        call.say("(more was printed than is kept)")
    for name, frame in _frames(outcome):
        _print_frame(name, frame)
    if outcome.has_result and outcome.frame is None:
        sys.stdout.write(f"{one_line(repr(outcome.result))}\n")
    if outcome.figures and not saved:
        call.say(f"It drew {len(outcome.figures)}: --figures FOLDER saves them.")
    for place in saved:
        call.say(f"saved {place}")
    if outcome.failure is not None:
        _print_failure(outcome)
    call.say(f"{outcome.status}, {outcome.seconds:.2f} s, {outcome.memory / _MEGABYTE:.0f} MB")


def _frames(outcome: Outcome) -> Iterator[tuple[str, Frame]]:
    if outcome.frame is not None:
        yield "", outcome.frame
    yield from outcome.frames.items()


def _print_frame(name: str, frame: Frame) -> None:
    if name:
        sys.stdout.write(f"{one_line(name)}\n")
    rows = [frame.columns, *frame.rows[:_SHOWN_ROWS]]
    for row in rows:
        sys.stdout.write("\t".join(one_line(str(cell)) for cell in row) + "\n")
    left = frame.total_rows - (len(rows) - 1)
    if left > 0:
        sys.stdout.write(f"... and {left:,} more rows\n")


def _print_failure(outcome: Outcome) -> None:
    failure = outcome.failure
    if failure is None:
        return
    sys.stderr.write(f"error: {one_line(failure.kind)}: {one_line(failure.message)}\n")
    if failure.line is not None:
        sys.stderr.write(f"  line {failure.line}: {one_line(failure.code or '')}\n")


def outcome_form(outcome: Outcome) -> dict[str, object]:
    """As JSON; numbers that it does not know are texts: "nan", "inf", "-inf"."""
    form = _plain(asdict(outcome))
    return form if isinstance(form, dict) else {}


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def save_figures(outcome: Outcome, folder: Path) -> list[str]:
    saved = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for number, figure in enumerate(outcome.figures, start=1):
            png = figure.kind == "png"
            place = folder / f"figure-{number}.{'png' if png else 'json'}"
            place.write_bytes(base64.b64decode(figure.data) if png else figure.data.encode())
            saved.append(str(place))
    except OSError as error:
        raise UsageError(f"Charts cannot be saved in {str(folder)!r}: {error}") from error
    return saved
