"""Progress: a live bar for a person, a line now and then for a log, every step with --trace."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from secondlook.cli.command import Call, counted, messages, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from secondlook.answer import SeenPassage
    from secondlook.evaluation.runner import Progress as Evaluating
    from secondlook.events import Event, NodeFinished
    from secondlook.library.report import Progress

    Report = Callable[[str, float, int, str], None]
    # What is done, how much of it, how much there is (0: not known), and figures beside it.

_WIDTH = 100
_INDENT = 26
_SECONDS_BETWEEN_LINES = 10.0


@contextmanager
def run_watched(
    call: Call, *, trace: bool, starting: str = "starting"
) -> Iterator[Callable[[Event], None]]:
    """What to hand every event of a run to; `starting` says what happens before the first."""
    if trace:
        yield _Trace().see
    elif call.shows_progress:
        from rich.text import Text

        with messages().status(Text(starting)) as status:

            def show(event: Event) -> None:
                """One line that each event replaces: a withdrawn draft goes with it."""
                if event.type == "node_started":
                    line = f"{event.node.replace('_', ' ')} ..."
                elif event.type == "token":
                    line = one_line(event.text)
                elif event.type == "redrafted":
                    line = f"writing anew: {one_line(event.why)}"
                else:
                    return
                # As a Text: what a document or a model wrote is not read as styles.
                status.update(Text(line[:_WIDTH]))

            yield show
    else:
        yield lambda _: None


class _Trace:
    """Every step as it is done. What a step found is told after it, with its grades."""

    def __init__(self) -> None:
        self._found: tuple[SeenPassage, ...] = ()

    def see(self, event: Event) -> None:
        if event.type == "node_started":  # one that asks a model may take half a minute
            inner = "  " if event.workflow else ""
            _say(f"{event.at:7.2f} s  {inner}{event.node} ...")
        elif event.type == "passages_found":
            self._found = event.passages
        elif event.type == "node_finished":
            self._finished(event)
        elif event.type == "routed":
            _say(f"{'':{_INDENT}}-> {event.to}: {event.why}")
        elif event.type == "redrafted":
            _say(f"{'':10}! written anew, the draft before is withdrawn: {one_line(event.why)}")
        elif event.type == "warned":
            trouble = event.trouble
            _say(f"{'':10}! {trouble.node}: {one_line(trouble.message)}; {trouble.consequence}")

    def _finished(self, event: NodeFinished) -> None:
        name = f"  {event.node}" if event.workflow else event.node  # of a workflow within another
        _say(f"{event.at:7.2f} s  {name:<14} {event.said}")
        numbers = ", ".join(
            f"{name} {f'{value or 0.0:.3g}' if isinstance(value, float) else value}"
            for name, value in event.numbers.items()
        )
        if numbers:
            _say(f"{'':{_INDENT}}{numbers}")
        for seen in self._found if event.node == "grade" else ():
            if seen.grade == "relevant":
                page = f", p. {seen.page}" if seen.page is not None else ""
                by = f" ({seen.graded_by})" if seen.graded_by else ""
                fits = "answers it" if seen.answers else "about it"
                _say(f"{'':{_INDENT}}{fits:<11} {one_line(seen.title)}{page}{by}")


def _say(line: str) -> None:
    sys.stderr.write(line.rstrip() + "\n")


@contextmanager
def shown_progress(call: Call) -> Iterator[Callable[[Progress], None] | None]:
    """What to hand to `Library.add`; None when nobody wants to see progress."""
    with _reporting(call) as report:
        yield report and adding(report)


def adding(report: Report) -> Callable[[Progress], None]:
    started = time.monotonic()

    def listen(told: Progress) -> None:
        if told.stage == "waiting" and told.current:
            report(f"waiting for {told.current}", 0, 0, "")
            return
        rate = told.passages / max(time.monotonic() - started, 0.001)
        figures = f"{counted(told.passages, 'passage')} ({rate:,.0f}/s)"
        if told.failed:
            figures += f", {told.failed:,} failed"
        # While files are still being counted a bar would only jump about.
        total = 0 if told.stage in {"waiting", "looking"} else told.files_total
        report(told.stage, told.files_done + told.share, total, figures)

    return listen


@contextmanager
def evaluation_watched(call: Call) -> Iterator[Callable[[Evaluating], None] | None]:
    """What to hand to an evaluation; None when nobody wants to see progress."""
    try:
        with _reporting(call) as report:
            if report is None:
                yield None
                return

            def listen(told: Evaluating) -> None:
                indexed = told.indexed
                if indexed is None:
                    figures = f"{told.failed:,} failed, {told.warned:,} with a warning"
                    report(told.configuration, told.done, told.total, figures)
                else:
                    figures = counted(indexed.passages, "passage")
                    report("indexing", indexed.files_done, indexed.files_total, figures)

            yield listen
    except KeyboardInterrupt:
        call.say("What is done is kept; the same command goes on where it stopped.")
        raise


@contextmanager
def download_watched(
    call: Call, size: int
) -> Iterator[tuple[Callable[[int], None], Callable[[], None]]]:
    """What hears of bytes that came, and of the check that follows them."""
    try:
        with _reporting(call) as report:
            tell: Report = report or (lambda *_: None)
            all_of = round(size / 1e6)
            yield (
                lambda done: tell("fetching", done / 1e6, all_of, "MB"),
                lambda: tell("checking", all_of, all_of, "MB"),
            )
    except KeyboardInterrupt:
        call.say("What came is kept; the same command goes on there.")
        raise


@contextmanager
def _reporting(call: Call) -> Iterator[Report | None]:
    if call.quiet:
        yield None
    elif not call.shows_progress:
        yield report_lines(call.say)
    else:
        from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        with Bar(
            TextColumn("{task.description:<9}"),
            BarColumn(bar_width=None),
            TextColumn("{task.completed:,.0f}/{task.fields[of]} {task.fields[figures]}"),
            TimeRemainingColumn(compact=True),
            console=messages(),
            transient=True,
        ) as bar:
            task = bar.add_task("looking", total=None, of="?", figures="")
            yield lambda name, done, total, figures: bar.update(
                task,
                description=name,
                completed=done,
                total=total or None,
                of=f"{total:,}" if total else "?",
                figures=figures,
            )


def report_lines(say: Callable[[str], None]) -> Report:
    """One line every ten seconds, and one for each thing waited for: a log shows that it lives."""
    last = time.monotonic()
    waits: set[str] = set()

    def report(name: str, done: float, total: int, figures: str) -> None:
        nonlocal last
        now = time.monotonic()
        if name.startswith("waiting for ") and name not in waits:
            waits.add(name)
            say(name)
        elif now - last >= _SECONDS_BETWEEN_LINES:
            last = now
            say(f"{name}: {done:,.0f} of {total or '?'}, {figures}")

    return report
