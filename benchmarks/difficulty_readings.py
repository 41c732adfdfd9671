"""How often an unclear question is taken as it was meant, and how seldom a plain one is unclear.

    SECONDLOOK_DATA=FOLDER python -m benchmarks.difficulty_readings --limit 200

Names give way to pronouns and vague terms as in `difficulty_making`, and the questions are asked
of `corrective` without their history. What was put away is known, so it is known whether the
reading that was assumed is the right one, and whether it is among those that were told where the
answer asks back. `LEADING_SHARE` and `LEADING_RATIO` (`nodes/meaning/rivals.py`) were chosen while
looking at questions of `squad-train` and at part of these, so the figures are not from unseen
questions. Interrupted, it goes
on: `.cache/eval` holds what was asked. Writes benchmarks/results/difficulty_readings.json.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.difficulty import plain_made
from benchmarks.eval_runs import RESULTS, write_results
from benchmarks.eval_sets import CACHE, SEED, data_folder, read_rows, write_set
from secondlook.app import Secondlook
from secondlook.evaluation import datasets
from secondlook.evaluation.evaluating import MEMORY_FILE
from secondlook.evaluation.indexing import cache_folder, open_indexed
from secondlook.evaluation.remembering import Memory
from secondlook.nodes.meaning.unclear import unresolved
from secondlook.settings import load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.difficulty_making import Made
    from secondlook.answer import Answer

SETS = ("squad2-dev", "shift-new_wiki", "hotpot")
Outcome = dict[str, Any]


def plain_rates() -> dict[str, Any]:
    """Of each set as it is: the questions that count as unclear, by kind."""
    told: dict[str, Any] = {}
    for name in SETS:
        questions = [row["question"] for row in read_rows(data_folder() / name, "queries")]
        kinds = Counter(one.kind for text in questions if (one := unresolved(text)))
        share = kinds.total() / len(questions)
        told[name] = {"questions": len(questions), "unclear": round(share, 5), "kinds": dict(kinds)}
    return told


def unclear_made(limit: int | None) -> tuple[list[dict[str, Any]], list[Made]]:
    corpus, every = plain_made(None)
    unclear = [one for one in every if unresolved(one.question)]
    return corpus, unclear[:limit]


def means(name: str, made: Made) -> bool:
    """Whether a reading is what was put away: the name, the title, or a part of either."""
    said = set(name.casefold().split())
    wanted = {made.name.casefold(), *(title.casefold() for title in made.turn.titles)}
    return any(said <= set(one.split()) for one in wanted)


def outcome(made: Made, answer: Answer) -> Outcome:
    """What became of one question: assumed, asked back or left, and if that was right."""
    kind = "vague term" if made.word.startswith("the ") else "pronoun"
    if answer.assumed:
        right = means(answer.assumed.partition(" = ")[2], made)
        return {"id": made.row["id"], "kind": kind, "way": "assumed", "right": right}
    if answer.asks_back:
        names = answer.asks_back.rstrip("?").partition(": ")[2].replace(" or ", ", ").split(", ")
        right = any(means(name, made) for name in names)
        return {"id": made.row["id"], "kind": kind, "way": "asked back", "right": right}
    return {"id": made.row["id"], "kind": kind, "way": "left", "right": None}


async def asked(corpus: list[dict[str, Any]], made: Sequence[Made], folder: Path) -> list[Outcome]:
    """Each question once; what was asked before is read from the rows."""
    rows = [{**one.row, "question": one.question} for one in made]
    data = datasets.load(write_set(folder, corpus, rows))
    kept = folder / "outcomes.jsonl"
    done = _read(kept)
    settings = load({"runs.keep": 0}).settings
    memory = Memory(cache_folder() / MEMORY_FILE)
    engine = Secondlook(open_indexed(data, settings, memory), settings=settings)
    try:
        for one in made:
            if one.row["id"] not in done:
                answer = await engine.aask(one.question, workflow="corrective")
                done[one.row["id"]] = outcome(one, answer)
                _append(kept, done[one.row["id"]])
    finally:
        await engine.adetach()
        memory.close()
    return [done[one.row["id"]] for one in made]


def _read(file: Path) -> dict[str, Outcome]:
    lines = file.read_text("utf-8").splitlines() if file.is_file() else []
    return {row["id"]: row for row in map(json.loads, lines)}


def _append(file: Path, row: Outcome) -> None:
    with file.open("a", encoding="utf-8", newline="\n") as lines:
        lines.write(json.dumps(row) + "\n")


def told(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """How many went each way, and the share that was right of those."""
    found: dict[str, Any] = {"questions": len(outcomes)}
    for way in ("assumed", "asked back", "left"):
        part = [one["right"] for one in outcomes if one["way"] == way]
        found[way] = {"questions": len(part)}
        if part and way != "left":
            found[way]["right"] = round(sum(part) / len(part), 4)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--limit", type=int, help="questions (default: all)")
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    os.environ["SECONDLOOK_CACHE"] = str(options.cache)
    corpus, made = unclear_made(options.limit)
    outcomes = asyncio.run(asked(corpus, made, options.cache / "difficulty-readings"))
    kinds = sorted({one["kind"] for one in outcomes})
    found = {
        "seed": SEED,
        "plain": plain_rates(),
        "unclear": {
            "all": told(outcomes),
            **{kind: told([one for one in outcomes if one["kind"] == kind]) for kind in kinds},
        },
    }
    said = f"python -m benchmarks.difficulty_readings --limit {options.limit}"
    write_results(options.out / "difficulty_readings.json", said, found)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
