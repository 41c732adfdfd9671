"""Progress: a live bar for a person, a line now and then for a log, every step with --trace."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from pathlib import PurePath
from typing import TYPE_CHECKING

from secondlook.cli.command import counted, messages, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.progress import Progress as Bar

    from secondlook.answer import SeenPassage
    from secondlook.cli.command import Call
    from secondlook.evaluation.runner import Progress as Evaluating
    from secondlook.events import Event, NodeFinished, NodeStarted
    from secondlook.library.report import Progress

DOING = {
    "consider": "looking at the question",
    "look_again": "looking at what came back",
    "linear": "answering in one pass",
    "adaptive": "searching until it looks good",
    "corrective": "answering and checking",
    "research": "researching step by step",
    "analyst": "asking the tables",
    "summary": "summing up",
    "lay_out": "laying out the tables",
    "understand": "telling what is asked",
    "requirements": "reading the question",
    "profile": "looking at the columns",
    "align": "checking that the data fit",
    "compute": "computing",
    "code": "writing code and running it",
    "remediate": "finding out what went wrong",
    "explain": "putting the result into words",
    "explain_concept": "explaining",
    "limitation": "telling what is missing",
    "separate": "telling the question from its options",
    "screen": "looking for orders to a model",
    "recall": "looking for earlier research",
    "classify": "telling how much there is to look up",
    "plan": "planning what to look up",
    "search_step": "searching for one step",
    "quarantine": "looking for orders in what was found",
    "synthesise": "writing down what was found",
    "evaluate": "judging the step",
    "replan": "deciding what to look up next",
    "aggregate": "putting the steps together",
    "remember": "keeping the research for later",
    "split": "looking whether it is several questions",
    "ask_part": "answering a part of the question",
    "combine": "putting the parts together",
    "retrieve": "searching",
    "rerank": "reading what was found",
    "follow": "looking up what the best passage names",
    "assess": "judging the search",
    "grade": "judging what was found",
    "readings": "asking what is meant",
    "rewrite": "looking for other words",
    "search_again": "searching again, in other words",
    "fall_back": "searching again, by words",
    "assess_again": "judging the search",
    "search_web": "searching the web",
    "answer": "answering",
    "check_grounded": "checking the answer against its evidence",
    "check_useful": "checking the answer against the question",
    "grade_answer": "having the answer judged",
    "settle": "choosing the best answer",
    "choose": "choosing",
    "summarise": "summing up, part by part",
    "outline": "making an outline",
    "condense": "making the question stand alone",
    "finish": "putting the answer together",
}
_WIDTH = 100
_INDENT = 26


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
            # As a Text: what a document or a model wrote is not read as styles.
            yield lambda event: _show(event, lambda line: status.update(Text(line)))
    else:
        yield lambda _: None


def _show(event: Event, update: Callable[[str], None]) -> None:
    """One line that each event replaces: what a withdrawn draft said goes with it."""
    if event.type == "node_started":
        update(DOING.get(event.node, event.node.replace("_", " ")))
    elif event.type == "token":
        update(one_line(event.text)[:_WIDTH])
    elif event.type == "redrafted":
        update(f"writing anew: {one_line(event.why)}"[:_WIDTH])


class _Trace:
    """Every step as it is done. What a step found is told after it, with its grades."""

    def __init__(self) -> None:
        self._found: tuple[SeenPassage, ...] = ()

    def see(self, event: Event) -> None:
        if event.type == "node_started":  # one that asks a model may take half a minute
            _say(f"{event.at:7.2f} s  {_named(event)} ...")
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
        numbers = ", ".join(f"{name} {_shown(value)}" for name, value in event.numbers.items())
        _say(f"{event.at:7.2f} s  {_named(event):<14} {event.said}")
        if numbers:
            _say(f"{'':{_INDENT}}{numbers}")
        if event.node == "grade":
            for seen in self._found:
                if seen.grade == "relevant":
                    _say(f"{'':{_INDENT}}{_graded(seen)}")


def _named(event: NodeStarted | NodeFinished) -> str:
    """Steps of a workflow that another one called stand a little further in."""
    return f"  {event.node}" if event.workflow else event.node


def _graded(seen: SeenPassage) -> str:
    """`answers it  Harbour survey, p. 2 (reader)`."""
    page = f", p. {seen.page}" if seen.page is not None else ""
    by = f" ({seen.graded_by})" if seen.graded_by else ""
    return f"{'answers it' if seen.answers else 'about it':<11} {one_line(seen.title)}{page}{by}"


def _shown(value: object) -> str:
    # Nothing is 0, from whichever side it came.
    return f"{value or 0.0:.3g}" if isinstance(value, float) else str(value)


def _say(line: str) -> None:
    sys.stderr.write(line.rstrip() + "\n")


if TYPE_CHECKING:
    Listener = Callable[[Progress], None]

_SECONDS_BETWEEN_LINES = 10.0


@contextmanager
def shown_progress(call: Call) -> Iterator[Listener | None]:
    """What to hand to `Library.add`; None when nobody wants to see progress."""
    if call.quiet:
        yield None
    elif call.shows_progress:
        with _bar(
            "{task.completed:,.0f}/{task.fields[files]} files",
            "{task.fields[passages]:,} passages",
            "{task.fields[rate]:,.0f}/s",
            "{task.fields[failed]}",
        ) as bar:
            yield _live(bar)
    else:
        yield adding_lines(call.say)


def adding_lines(
    say: Callable[[str], None], *, clock: Callable[[], float] = time.monotonic
) -> Listener:
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


def _bar(*columns: str) -> Bar:
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    return Bar(
        TextColumn("{task.description:<9}"),
        BarColumn(bar_width=None),
        *map(TextColumn, columns),
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
            description=f"waiting for {progress.current}"
            if progress.stage == "waiting" and progress.current
            else progress.stage,
            completed=progress.files_done + progress.share,
            # While files are still being counted a bar would only jump about: None keeps it open.
            total=None if progress.stage in {"waiting", "looking"} else progress.files_total,
            files=f"{progress.files_total:,}",
            passages=progress.passages,
            rate=progress.passages / seconds if seconds > 0 else 0.0,
            failed=f"{progress.failed:,} failed" if progress.failed else "",
        )

    return listen


KEPT = "What is done is kept; the same command goes on where it stopped."


@contextmanager
def evaluation_watched(call: Call) -> Iterator[Callable[[Evaluating], None] | None]:
    """What to hand to an evaluation; None when nobody wants to see progress."""
    try:
        if call.quiet:
            yield None
        elif call.shows_progress:
            with _bar("{task.completed:,.0f}/{task.fields[of]}", "{task.fields[troubles]}") as bar:
                yield _live_evaluation(bar)
        else:
            yield evaluation_lines(call.say)
    except KeyboardInterrupt:
        call.say(KEPT)
        raise


def evaluation_lines(
    say: Callable[[str], None], *, clock: Callable[[], float] = time.monotonic
) -> Callable[[Evaluating], None]:
    """One line every ten seconds, with the time that remains at the pace so far."""
    began = last = clock()
    indexing = False

    def listen(progress: Evaluating) -> None:
        nonlocal began, last, indexing
        now = clock()
        if indexing != (progress.indexed is not None):
            # Answers have a pace of their own: what indexing took says nothing about them.
            indexing, began = not indexing, now
        if now - last >= _SECONDS_BETWEEN_LINES:
            last = now
            say(_told(progress, now - began))

    return listen


def _told(progress: Evaluating, seconds: float) -> str:
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


def _live_evaluation(bar: Bar) -> Callable[[Evaluating], None]:
    task = bar.add_task("looking", total=None, of="?", troubles="")

    def listen(progress: Evaluating) -> None:
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
