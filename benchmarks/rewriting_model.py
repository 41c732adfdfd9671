"""A model's stand-alone questions and queries over CANARD. Rows are kept, so that a run that was
stopped goes on where it was."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.condense import f1, interval, mean
from secondlook.memory.journal import MemoryJournal
from secondlook.memory.ledger import Caps, Ledger
from secondlook.models import open_models
from secondlook.nodes.condense import condense
from secondlook.nodes.follow_up import stand_alone
from secondlook.nodes.rewrite import messages_for
from secondlook.nodes.rewriting import accepted
from secondlook.nodes.rewriting.wording import most_words
from secondlook.nodes.stand_alone import Turn
from secondlook.prompts import load
from secondlook.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.models import Asker

CACHE = Path(__file__).resolve().parent.parent / ".cache" / "rewriting"
SHORT = 8


def asked(spec: str, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the model makes of each row; rows that are on file are not asked again."""
    file = CACHE / f"{re.sub(r'[^A-Za-z0-9.]+', '-', name_of(spec))}-{_wording()}.jsonl"
    known = _known(file)
    missing = [row for row in rows if row["id"] not in known]
    if missing:
        known |= asyncio.run(_ask_all(spec, missing, file))
    return [known[row["id"]] for row in rows]


def name_of(spec: str) -> str:
    """The model without the folder that it lies in."""
    provider, _, model = spec.partition(":")
    return f"{provider}:{Path(model).name}"


def _wording() -> str:
    """What the model is told: other prompts, other rows."""
    told = load("condense").own_words + load("rewrite").own_words
    return hashlib.sha256(told.encode()).hexdigest()[:8]


def _known(file: Path) -> dict[str, dict[str, Any]]:
    if not file.exists():
        return {}
    lines = file.read_text("utf-8").splitlines()
    whole = [line for line in lines if line.endswith("}")]  # the last may have been cut
    return {row["id"]: row for row in map(json.loads, whole)}


async def _ask_all(
    spec: str, rows: Sequence[dict[str, Any]], file: Path
) -> dict[str, dict[str, Any]]:
    models = open_models(Settings.model_validate({"models": {"default": spec}}))
    file.parent.mkdir(parents=True, exist_ok=True)
    made: dict[str, dict[str, Any]] = {}
    try:
        with file.open("a", encoding="utf-8") as kept:
            for number, row in enumerate(rows, 1):
                asker = models.asker(
                    run="rewriting",
                    workflow="linear",
                    ledger=Ledger(Caps()),
                    journal=MemoryJournal(),
                )
                made[row["id"]] = await _ask(asker, row)
                kept.write(json.dumps(made[row["id"]], ensure_ascii=False) + "\n")
                kept.flush()
                print(f"\r{number} of {len(rows)} asked", end="", flush=True)
    finally:
        await models.aclose()
        print()
    return made


async def _ask(asker: Asker, row: dict[str, Any]) -> dict[str, Any]:
    turns = turns_of(row)
    began = time.perf_counter()
    alone = await condense(asker, row["question"], turns)
    took = time.perf_counter() - began
    began = time.perf_counter()
    said = await _query(asker, row["rewrite"])
    return {
        "id": row["id"],
        "question": row["question"],
        "rewrite": row["rewrite"],
        "by_rules": stand_alone(row["question"], turns),
        "by_model": alone.asked,
        "by": str(alone.steps[0].numbers["by"]) if alone.steps else "nobody",
        "query": said,
        "stand_alone_seconds": round(took, 3),
        "query_seconds": round(time.perf_counter() - began, 3),
    }


async def _query(asker: Asker, question: str) -> str | None:
    """As the node asks after a search that found nothing; None where the model fails."""
    from secondlook.errors import ModelError

    state: Any = {
        "question": question,
        "scope": {"documents": None, "labels": []},
        "queries": [question],
        "found": [],
        "searches": [],
        "web_tried": False,
    }
    try:
        reply = await asker.ask(
            "rewrite",
            messages_for(state),
            node="rewrite",
            max_tokens=max(64, 4 * most_words(question)),
        )
    except ModelError:
        return None
    return reply.text


def turns_of(row: dict[str, Any]) -> list[Turn]:
    """The conversation, its questions made stand-alone by rules as it went on."""
    title, _, *said = row["history"]
    turns: list[Turn] = []
    for question, answer in zip(said[::2], said[1::2], strict=False):
        short = answer if len(answer.split()) <= SHORT else None
        turns.append(Turn(stand_alone(question, turns), short, answer, (title,)))
    return turns


def figures(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {"stand_alone": _stand_alone(rows), "queries": _queries(rows)}


def _stand_alone(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    typed = [f1(row["question"], row["rewrite"]) for row in rows]
    rules = [f1(row["by_rules"], row["rewrite"]) for row in rows]
    model = [f1(row["by_model"], row["rewrite"]) for row in rows]
    gains = [after - before for after, before in zip(model, rules, strict=True)]
    return {
        "questions": len(rows),
        "f1_as_typed": mean(typed),
        "f1_by_rules": mean(rules),
        "f1_by_model": mean(model),
        "model_over_rules": mean(gains),
        "model_over_rules_95_percent": interval(gains),
        "by": dict(Counter(row["by"] for row in rows).most_common()),
        "seconds_each": mean([row["stand_alone_seconds"] for row in rows]),
    }


def _queries(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The model's queries for questions that stand alone, before the guard."""
    said = [row for row in rows if row["query"] is not None]
    verdicts = [accepted(row["query"], row["rewrite"], []) for row in said]
    reasons = Counter(one.reason for one in verdicts if one.reason)
    return {
        "questions": len(rows),
        "failed": len(rows) - len(said),
        "accepted": mean([float(one.is_accepted) for one in verdicts]) if verdicts else None,
        "refused": dict(reasons.most_common()),
        "kept": mean([one.kept for one in verdicts]) if verdicts else None,
        "seconds_each": mean([row["query_seconds"] for row in rows]),
    }
