"""What a question may lean on: the runs before it, or turns that the client tells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.api.problems import Problem
from secondlook.app.conversation import MOST_TURNS, turn_of
from secondlook.nodes.stand_alone import Turn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.answer import Answer
    from secondlook.api.asking.forms import GivenTurn
    from secondlook.api.asking.runs import Runs


def turns_before(runs: Runs, after: str) -> tuple[Turn, ...]:
    """The turns of a conversation up to the run named, as `chat` would remember them. Reads the
    record: call it in a thread."""
    answer, before = _step(runs, after)
    if answer is None:
        raise Problem(
            409,
            "run_unfinished",
            f"the run {after!r} has no answer to go on from",
            hint="wait for it, resume it, or name the one before it",
        )
    turns = [turn_of(answer)]
    seen = {after}
    while before is not None and before not in seen and len(turns) < MOST_TURNS:
        seen.add(before)
        try:
            answer, before = _step(runs, before)
        except Problem:  # deleted, or beyond what is kept: the conversation begins after it
            break
        if answer is not None:  # one that was stopped was never a turn
            turns.insert(0, turn_of(answer))
    return tuple(turns)


def turns_given(turns: Sequence[GivenTurn]) -> tuple[Turn, ...]:
    return tuple(Turn(asked=turn.question, text=turn.answer) for turn in turns)


def _step(runs: Runs, run: str) -> tuple[Answer | None, str | None]:
    """The answer of a run, and the run before it."""
    live = runs.live(run)
    if live is not None:
        return live.answer, live.ask.after
    stored = runs.record.find(run)
    if stored is None:
        raise Problem(
            422,
            "conversation_missing",
            f"there is no run {run!r} to go on from",
            hint="GET /api/runs lists them; or send the turns themselves",
        )
    return stored.answer, (stored.request.get("caller") or {}).get("after")
