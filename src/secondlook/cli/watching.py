"""How a run shows itself in a terminal: one quiet line, or every step with --trace."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from secondlook.cli.terminal import messages, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from secondlook.answer import SeenPassage
    from secondlook.cli.call import Call
    from secondlook.events import Event, NodeFinished, NodeStarted

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
    "issues": "making questions of the options",
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
def watched(
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
