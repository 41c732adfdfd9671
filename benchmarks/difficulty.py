"""Easy, medium and hard questions: what correcting buys as questions get harder.

    SECONDLOOK_DATA=FOLDER python -m benchmarks.difficulty --limit 300
    SECONDLOOK_DATA=FOLDER python -m benchmarks.difficulty --limit 50 --model gguf:FILE

Easy are questions of `squad2-dev` as they are. Medium are the same questions after another one: a
name has given way to a pronoun or a vague term, and a real other question of the article that has
the name goes before (`difficulty_making`). What chat does with that is done here: the question is
made stand-alone from its history, by rules or by the model, and then asked. Hard are the two-hop
questions of `hotpot`. With `--levels easy,medium,alone,hard` the medium questions are also asked
without any history, so that only the evidence can tell what is meant.

Each level is answered by `linear` and by `corrective` on the same questions. Interrupted, it goes
on where it was: `.cache/eval` holds the rows and what models said. Writes
benchmarks/results/difficulty.json and a table, difficulty.md; neither holds a question.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.difficulty_making import made_questions
from benchmarks.difficulty_table import markdown
from benchmarks.eval_runs import RESULTS, answered, differences, figures, write_results
from benchmarks.eval_sets import CACHE, SEED, chosen, data_folder, each_once, read_rows, write_set
from secondlook.engine.request import ledger_for, made_stand_alone, usual_workflow
from secondlook.evaluation.cache import Memory, RememberingModels
from secondlook.evaluation.library import cache_folder
from secondlook.evaluation.records import Configuration
from secondlook.evaluation.study import MEMORY_FILE
from secondlook.settings import load

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.difficulty_making import Made
    from secondlook.evaluation.records import Row
    from secondlook.evaluation.study import Evaluated
    from secondlook.models.calls import Models
    from secondlook.settings.sections import Settings

LEVELS = ("easy", "medium", "hard")
ALL_LEVELS = ("easy", "medium", "alone", "hard")
PLAIN, HARD = "squad2-dev", "hotpot"
WORKFLOWS = "linear,corrective"
SHOWN = (
    "success", "f1", "f1_overall", "recall@5", "answered", "wrong_among_answered", "retry_rate",
    "llm_calls", "failed",
)  # fmt: skip
COMPARED = ("success", "f1", "recall@5")


def plain_made(limit: int | None) -> tuple[list[dict[str, Any]], list[Made]]:
    """The corpus, and those of the questions that can be made, a fixed part of them by chance."""
    corpus = read_rows(data_folder() / PLAIN, "corpus")
    queries = [row for row in read_rows(data_folder() / PLAIN, "queries") if row["answerable"]]
    every = {made.row["id"]: made for made in made_questions(corpus, queries)}
    taken = chosen([made.row for made in every.values()], limit)
    return corpus, [every[row["id"]] for row in taken]


def rows_of(level: str, made: Sequence[Made], alone: Mapping[str, str]) -> list[dict[str, Any]]:
    """The questions of a level, each with the level and what kind it is of."""
    return [
        {
            **one.row,
            "question": _asked(level, one, alone),
            "level": level,
            "type": _kind(level, one),
        }
        for one in made
    ]


def _asked(level: str, one: Made, alone: Mapping[str, str]) -> str:
    if level == "easy":
        return str(one.row["question"])
    return alone[one.row["id"]] if level == "medium" else one.question


def _kind(level: str, one: Made) -> str:
    if level == "easy":
        return "plain"
    return "vague term" if one.word.startswith("the ") else "pronoun"


def hard_rows(limit: int | None) -> list[dict[str, Any]]:
    queries = each_once(read_rows(data_folder() / HARD, "queries"))
    return [{**row, "level": "hard"} for row in chosen(queries, limit)]


async def stand_alone(made: Sequence[Made], shared: Mapping[str, str]) -> dict[str, str]:
    """Each made question as chat would work on it; a model's replies are remembered."""
    settings = load(dict(shared)).settings
    memory = Memory(cache_folder() / MEMORY_FILE)
    try:
        models = RememberingModels(settings, memory=memory)
        return {one.row["id"]: await _alone(models, settings, one) for one in made}
    finally:
        memory.close()


async def _alone(models: Models, settings: Settings, one: Made) -> str:
    workflow = usual_workflow(settings)
    ledger = ledger_for(settings, models, workflow, one.question)
    made = await made_stand_alone(models, ledger, workflow, one.question, [one.turn])
    return made.asked


def resolved(made: Sequence[Made], alone: Mapping[str, str]) -> dict[str, Any]:
    """How many got their name back: of all, and by what had taken its place."""
    told: dict[str, Any] = {}
    for kind in ("all", "pronoun", "vague term"):
        part = [one for one in made if kind in {"all", _kind("medium", one)}]
        if not part:
            continue
        named = [one.name.casefold() in alone[one.row["id"]].casefold() for one in part]
        changed = [alone[one.row["id"]] != one.question for one in part]
        told[kind] = {
            "questions": len(part),
            "changed": round(sum(changed) / len(part), 4),
            "named_again": round(sum(named) / len(part), 4),
        }
    return told


def configurations(workflows: str) -> list[Configuration]:
    """`linear,linear` compares a workflow with itself: what chance and the machine bring."""
    names: list[str] = []
    for workflow in workflows.split(","):
        seen = names.count(workflow)
        names.append(workflow)
        if seen:
            names[-1] = f"{workflow} ({seen + 1})"
    return [Configuration(name, name.partition(" ")[0]) for name in names]


def level_told(evaluated: Evaluated, compared: Sequence[Configuration]) -> dict[str, Any]:
    """One level: figures of each workflow, and how the second differs from the first."""
    pairs = [(compared[0].name, one.name) for one in compared[1:]]
    kinds = sorted({row.type for rows in evaluated.rows.values() for row in rows if row.type})
    parts = {"all": lambda _row: True}
    if len(kinds) > 1:
        parts |= {kind: _of_kind(kind) for kind in kinds}
    return {
        "questions": len(evaluated.cases),
        "configurations": figures(evaluated, SHOWN),
        "differences": differences(evaluated.rows, pairs, parts=parts, metrics=COMPARED),
    }


def _of_kind(kind: str) -> Any:
    def is_one(row: Row) -> bool:
        return row.type == kind

    return is_one


def study(options: argparse.Namespace) -> dict[str, Any]:
    os.environ["SECONDLOOK_CACHE"] = str(options.cache)
    shared = {"models.default": options.model} if options.model else {}
    folder = options.cache / f"difficulty-{options.limit or 'all'}"
    corpus, made = plain_made(options.limit)
    alone = asyncio.run(stand_alone(made, shared))
    compared = configurations(options.workflows)
    levels: dict[str, Any] = {}
    for level in options.levels.split(","):
        rows = hard_rows(options.limit) if level == "hard" else rows_of(level, made, alone)
        texts = read_rows(data_folder() / HARD, "corpus") if level == "hard" else corpus
        place = write_set(folder / _by(options) / level, texts, rows)
        evaluated = answered(place, compared, place / "runs", memory=options.cache, shared=shared)
        levels[level] = level_told(evaluated, compared)
    return {
        "data": {"easy": PLAIN, "medium": PLAIN, "alone": PLAIN, "hard": HARD},
        "seed": SEED,
        "model": _named(options.model),
        "workflows": [one.name for one in compared],
        "stand_alone": resolved(made, alone),
        "levels": levels,
    }


def _by(options: argparse.Namespace) -> str:
    return "by-model" if options.model else "by-rules"


def _named(spec: str | None) -> str | None:
    """A file's path says nothing to others."""
    if spec is None:
        return None
    kind, _, name = spec.partition(":")
    return f"{kind}:{Path(name).name}"


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--limit", type=int, help="questions of each level (default: all)")
    parser.add_argument("--model", help="a chat model, such as gguf:FILE (default: none)")
    parser.add_argument("--levels", default=",".join(LEVELS))
    parser.add_argument("--workflows", default=WORKFLOWS, help="the first is the base")
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    unknown = set(options.levels.split(",")) - set(ALL_LEVELS)
    if unknown:
        parser.error(f"no such level: {', '.join(sorted(unknown))}; of {', '.join(ALL_LEVELS)}")
    return options


def main(arguments: Sequence[str] | None = None) -> None:
    options = parsed(arguments)
    found = study(options)
    name = "difficulty-model" if options.model else "difficulty"
    said = f"python -m benchmarks.difficulty --limit {options.limit}"
    write_results(options.out / f"{name}.json", said, found)
    table = markdown(json.loads((options.out / f"{name}.json").read_text("utf-8")))
    (options.out / f"{name}.md").write_text(table, encoding="utf-8", newline="\n")
    print(table)


if __name__ == "__main__":
    main()
