"""How a running `add` shows itself: a live bar for a person, a line now and then for a log."""

from __future__ import annotations

import time
from contextlib import contextmanager
from pathlib import PurePath
from typing import TYPE_CHECKING

from secondlook.cli.terminal import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.progress import Progress as Bar

    from secondlook.cli.call import Call
    from secondlook.library.report import Progress

    Listener = Callable[[Progress], None]

_SECONDS_BETWEEN_LINES = 10.0


@contextmanager
def shown_progress(call: Call) -> Iterator[Listener | None]:
    """What to hand to `Library.add`; None when nobody wants to see progress."""
    if call.quiet:
        yield None
    elif call.shows_progress:
        with _bar() as bar:
            yield _live(bar)
    else:
        yield lines(call.say)


def lines(say: Callable[[str], None], *, clock: Callable[[], float] = time.monotonic) -> Listener:
    """One line every ten seconds: enough to see that it lives, not enough to fill a log."""
    started = last = clock()
    told: set[str] = set()

    def listen(progress: Progress) -> None:
        nonlocal last
        now = clock()
        if progress.stage == "waiting" and progress.current not in told:
            told.add(progress.current)
            say(f"waiting for {progress.current}")
        elif now - last >= _SECONDS_BETWEEN_LINES:
            last = now
            say(describe(progress, now - started))

    return listen


def describe(progress: Progress, seconds: float) -> str:
    """`reading: 120 of 4,000 files, 3,400 passages (85/s), 2 failed`."""
    rate = progress.passages / seconds if seconds > 0 else 0.0
    parts = [
        f"{progress.files_done:,} of {counted(progress.files_total, 'file')}",
        f"{counted(progress.passages, 'passage')} ({rate:,.0f}/s)",
    ]
    if progress.failed:
        parts.append(f"{progress.failed:,} failed")
    if progress.stage == "tables":
        parts.append(f"{progress.share:.0%} of {PurePath(progress.current).name}")
    return f"{progress.stage}: {', '.join(parts)}"


def _stage(progress: Progress) -> str:
    if progress.stage == "waiting" and progress.current:
        return f"waiting for {progress.current}"
    return progress.stage


def _bar() -> Bar:
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    from secondlook.cli.terminal import messages

    return Bar(
        TextColumn("{task.description:<9}"),
        BarColumn(bar_width=None),
        TextColumn("{task.completed:,.0f}/{task.fields[files]} files"),
        TextColumn("{task.fields[passages]:,} passages"),
        TextColumn("{task.fields[rate]:,.0f}/s"),
        TextColumn("{task.fields[failed]}"),
        TimeRemainingColumn(compact=True),
        console=messages(),
        transient=True,
    )


def _live(bar: Bar) -> Listener:
    started = time.monotonic()
    task = bar.add_task("looking", total=None, files="?", passages=0, rate=0.0, failed="")

    def listen(progress: Progress) -> None:
        seconds = time.monotonic() - started
        bar.update(
            task,
            description=_stage(progress),
            completed=progress.files_done + progress.share,
            # While files are still being counted a bar would only jump about: None keeps it open.
            total=None if progress.stage in {"waiting", "looking"} else progress.files_total,
            files=f"{progress.files_total:,}",
            passages=progress.passages,
            rate=progress.passages / seconds if seconds > 0 else 0.0,
            failed=f"{progress.failed:,} failed" if progress.failed else "",
        )

    return listen
