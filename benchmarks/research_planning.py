"""How often a local model's plans can be read, and how often they can be used.

    python -m benchmarks.research_planning --model FILE.gguf [--questions 20] [--calls separate]

Asks for a first step (questions of `sets/research_steps.jsonl`, then of
`sets/research_queries.jsonl`), for what comes after the first step of each of the former, and with
`--calls separate` for the wordings of a step. `read`: the reply had its form, after one correction
at most. `used`: its question may become a step, as `nodes.planning.questions` decides; `queries`:
wordings of three that were the model's own. Writes `benchmarks/results/research_planning.json`, one
entry per model and kind of calls.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from benchmarks.research_wording import Shelf, rows
from secondlook.context import Context
from secondlook.errors import ModelError
from secondlook.memory.journal import MemoryJournal
from secondlook.memory.ledger import Caps, Ledger
from secondlook.models import Models
from secondlook.nodes.planning.adopting import adopted
from secondlook.nodes.planning.by_model import Aim, first_proposed, next_proposed
from secondlook.nodes.planning.queries import queries_for, validated
from secondlook.nodes.planning.summary import records
from secondlook.settings import Settings
from secondlook.state import pending

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from secondlook.nodes.planning.by_model import Proposal
    from secondlook.state import StepData

RESULTS = Path(__file__).parent / "results" / "research_planning.json"


def context_of(model: str, calls: str) -> Context:
    """Only what planning asks for: models, settings and an embedder."""
    settings = Settings.model_validate(
        {"models": {"default": model, "timeout": 600.0}, "research": {"calls": calls}}
    )
    ledger = Ledger(Caps())
    asker = Models(settings).asker(
        run="benchmark", workflow="research", ledger=ledger, journal=MemoryJournal()
    )
    nothing = cast("Any", None)
    return Context(
        run="benchmark",
        created="",
        workflow="research",
        question="",
        settings=settings,
        shelf=cast("Any", Shelf()),
        models=asker,
        ledger=ledger,
        support=nothing,
        pages=nothing,
    )


async def first_steps(context: Context, questions: list[str]) -> dict[str, Any]:
    counted: Counter[str] = Counter()
    for question in questions:
        proposal = await _read(first_proposed(context, Aim(question)))
        await _count(context, counted, proposal, question, [])
    return _figures(counted)


async def next_steps(context: Context, given: list[dict[str, Any]]) -> dict[str, Any]:
    counted: Counter[str] = Counter()
    for row in given:
        step = cast("StepData", {**pending(1, row["steps"][0], phase="Rule"), "status": "failed"})
        told = records([step])
        proposal = await _read(next_proposed(context, Aim(row["question"]), told))
        await _count(context, counted, proposal, row["question"], [step])
    return _figures(counted)


async def wordings(context: Context, questions: list[str]) -> dict[str, Any]:
    counted: Counter[str] = Counter()
    for question in questions:
        step = pending(1, question, phase="Rule")
        worded = await queries_for(context, question, step)
        counted["asked"] += 1
        counted["read"] += not worded.warnings
        counted["queries"] += int(worded.numbers["by_model"] or 0)
    return _figures(counted)


async def _read(asking: Awaitable[Proposal]) -> Proposal | None:
    try:
        return await asking
    except ModelError as error:
        print(f"not read: {error}", flush=True)
        return None


async def _count(
    context: Context,
    counted: Counter[str],
    proposal: Proposal | None,
    question: str,
    earlier: list[StepData],
) -> None:
    counted["asked"] += 1
    print(f"{question}\n  {proposal}", flush=True)
    if proposal is None:
        return
    counted["read"] += 1
    counted[proposal.action] += 1
    if proposal.action == "complete":
        return
    made = await adopted(context, proposal, Aim(question), earlier=earlier)
    counted["used"] += made.planned is not None
    counted[f"refused: {made.refused}"] += made.refused is not None
    if made.planned and proposal.queries:
        worded = await validated(context, made.planned.question, proposal.queries, known=question)
        counted["queries"] += int(worded.numbers["by_model"] or 0)


def _figures(counted: Counter[str]) -> dict[str, Any]:
    return {name: number for name, number in sorted(counted.items()) if number}


async def measure(model: str, calls: str, most: int) -> dict[str, Any]:
    context = context_of(model, calls)
    steps = rows("research_steps")
    plain = [row["question"] for row in rows("research_queries")]
    questions = [*(row["question"] for row in steps), *plain][:most]
    try:
        found = {"first step": await first_steps(context, questions)}
        found["next step after a failed one"] = await next_steps(context, steps[:most])
        if calls == "separate":
            found["wordings"] = await wordings(context, plain[:most])
    finally:
        await context.models.models.aclose()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=20)
    parser.add_argument("--calls", choices=["merged", "separate"], default="merged")
    given = parser.parse_args()
    found = asyncio.run(measure(f"gguf:{given.model}", given.calls, given.questions))
    known = json.loads(RESULTS.read_text("utf-8")) if RESULTS.is_file() else {}
    known[f"{given.model.name}, {given.calls}"] = found
    RESULTS.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
