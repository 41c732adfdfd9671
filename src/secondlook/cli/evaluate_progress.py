"""How a running evaluation shows itself: a bar with the time that remains, or a line now and
then."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from secondlook.cli.progress import describe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.progress import Progress as Bar

    from secondlook.cli.call import Call
    from secondlook.evaluation.running import Progress

    Listener = Callable[[Progress], None]

_SECONDS_BETWEEN_LINES = 10.0
KEPT = "What is done is kept; the same command goes on where it stopped."


@contextmanager
def watched(call: Call) -> Iterator[Listener | None]:
    """What to hand to an evaluation; None when nobody wants to see progress."""
    try:
        if call.quiet:
            yield None
        elif call.shows_progress:
            with _bar() as bar:
                yield _live(bar)
        else:
            yield lines(call.say)
    except KeyboardInterrupt:
        call.say(KEPT)
        raise


def lines(say: Callable[[str], None], *, clock: Callable[[], float] = time.monotonic) -> Listener:
    started = last = clock()
    first: int | None = None

    def listen(progress: Progress) -> None:
        nonlocal last, first
        now = clock()
        first = progress.done if first is None else first
        if now - last >= _SECONDS_BETWEEN_LINES:
            last = now
            say(_told(progress, now - started, progress.done - first))

    return listen


def _told(progress: Progress, seconds: float, new: int) -> str:
    if progress.indexed is not None:
        return describe(progress.indexed, seconds)
    parts = [f"{progress.done:,} of {progress.total:,} answers"]
    if progress.failed:
        parts.append(f"{progress.failed:,} failed")
    if new:
        left = seconds / new * (progress.total - progress.done)
        parts.append(f"about {left / 60:.0f} min left" if left > 90 else f"about {left:.0f} s left")  # noqa: PLR2004
    return f"{progress.configuration}: {', '.join(parts)}"


def _bar() -> Bar:
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    from secondlook.cli.terminal import messages

    return Bar(
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        TextColumn("{task.completed:,.0f}/{task.fields[of]}"),
        TextColumn("{task.fields[failed]}"),
        TimeRemainingColumn(compact=True),
        console=messages(),
        transient=True,
    )


def _live(bar: Bar) -> Listener:
    task = bar.add_task("looking", total=None, of="?", failed="")

    def listen(progress: Progress) -> None:
        indexed = progress.indexed
        done, total = (
            (indexed.files_done, indexed.files_total)
            if indexed is not None
            else (progress.done, progress.total)
        )
        bar.update(
            task,
            description="indexing" if indexed is not None else progress.configuration,
            completed=done,
            total=total or None,
            of=f"{total:,}" if total else "?",
            failed=f"{progress.failed:,} failed" if progress.failed else "",
        )

    return listen
