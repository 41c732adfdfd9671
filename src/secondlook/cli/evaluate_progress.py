"""How a running evaluation shows itself: a bar with the time that remains, or a line now and
then."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from secondlook.cli.terminal import counted

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
    """One line every ten seconds, with the time that remains at the pace so far."""
    began = last = clock()
    indexing = False

    def listen(progress: Progress) -> None:
        nonlocal began, last, indexing
        now = clock()
        if indexing != (progress.indexed is not None):
            # Answers have a pace of their own: what indexing took says nothing about them.
            indexing, began = not indexing, now
        if now - last >= _SECONDS_BETWEEN_LINES:
            last = now
            say(_told(progress, now - began))

    return listen


def _told(progress: Progress, seconds: float) -> str:
    if (indexed := progress.indexed) is not None:
        parts = [
            f"{indexed.files_done:,} of {counted(indexed.files_total, 'document')}",
            counted(indexed.passages, "passage"),  # of one huge document, all that moves
        ]
        name, troubles = "indexing", _troubles(indexed.failed)
        left = _left(seconds, indexed.files_done, indexed.files_total - indexed.files_done)
    else:
        parts = [f"{progress.done:,} of {counted(progress.total, 'answer')}"]
        name, troubles = progress.configuration, _troubles(progress.failed, progress.warned)
        left = _left(seconds, progress.done - progress.reused, progress.total - progress.done)
    return f"{name}: {', '.join([*parts, *troubles, *left])}"


def _troubles(failed: int, warned: int = 0) -> list[str]:
    return [
        *([f"{failed:,} failed"] if failed else []),
        *([f"{warned:,} with a warning"] if warned else []),
    ]


def _left(seconds: float, done: int, to_do: int) -> list[str]:
    if done <= 0 or to_do <= 0:
        return []
    left = seconds / done * to_do
    return [f"about {left / 60:.0f} min left" if left > 90 else f"about {left:.0f} s left"]  # noqa: PLR2004


def _bar() -> Bar:
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    from secondlook.cli.terminal import messages

    return Bar(
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        TextColumn("{task.completed:,.0f}/{task.fields[of]}"),
        TextColumn("{task.fields[troubles]}"),
        TimeRemainingColumn(compact=True),
        console=messages(),
        transient=True,
    )


def _live(bar: Bar) -> Listener:
    task = bar.add_task("looking", total=None, of="?", troubles="")

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
            troubles=", ".join(_troubles(progress.failed, progress.warned)),
        )

    return listen
