"""How a run shows itself in a terminal: one quiet line, or every step with --trace."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from secondlook.cli.terminal import messages, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from secondlook.cli.call import Call
    from secondlook.events import Event

DOING = {
    "retrieve": "searching",
    "rerank": "reading what was found",
    "assess": "judging the search",
    "fall_back": "searching again, by words",
    "assess_again": "judging the search",
    "search_web": "searching the web",
    "answer": "answering",
    "choose": "choosing what to sum up",
    "summarise": "summing up, part by part",
    "outline": "making an outline",
    "condense": "making the question stand alone",
    "finish": "putting the answer together",
}
_WIDTH = 100


@contextmanager
def watched(call: Call, *, trace: bool) -> Iterator[Callable[[Event], None]]:
    """What to hand every event of a run to."""
    if trace:
        yield _trace
    elif call.shows_progress:
        with messages().status("starting") as status:
            yield lambda event: _show(event, status.update)
    else:
        yield lambda _: None


def _show(event: Event, update: Callable[[str], None]) -> None:
    if event.type == "node_started":
        update(DOING.get(event.node, event.node.replace("_", " ")))
    elif event.type == "token":
        update(one_line(event.text)[:_WIDTH])


def _trace(event: Event) -> None:
    if event.type == "node_started":  # one that asks a model may take half a minute
        _say(f"{event.at:7.2f} s  {event.node} ...")
    elif event.type == "node_finished":
        numbers = ", ".join(f"{name} {_shown(value)}" for name, value in event.numbers.items())
        _say(f"{event.at:7.2f} s  {event.node:<12} {event.said}")
        if numbers:
            _say(f"{'':24}{numbers}")
    elif event.type == "routed":
        _say(f"{'':24}-> {event.to}: {event.why}")
    elif event.type == "warned":
        trouble = event.trouble
        _say(f"{'':10}! {trouble.node}: {one_line(trouble.message)}; {trouble.consequence}")


def _shown(value: object) -> str:
    # Nothing is 0, from whichever side it came.
    return f"{value or 0.0:.3g}" if isinstance(value, float) else str(value)


def _say(line: str) -> None:
    sys.stderr.write(line.rstrip() + "\n")
