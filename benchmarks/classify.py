"""How often a question is taken for simple, or for one that needs several facts, and is not.

    export SECONDLOOK_DATA=FOLDER                 # for the public sets; left out without it
    python -m benchmarks.classify [--model gguf:PATH]

`benchmarks/sets/classify.jsonl` holds 96 questions in our own words: half simple, half multi_hop,
and half of each with choices. It was written before the rules. Rules were fitted to its half
`tune`, and to samples of `hotpot-train` (all multi_hop) and `squad-train` (taken as simple); the
half `judge`, `hotpot` and `squad2-dev` were looked at once the rules stood. One author wrote the
questions and the rules, so the public sets are the harder judges. Both are open questions. Some of
SQuAD's do need more than one fact, and some of HotpotQA's can be answered from one passage (Min
et al., ACL 2019, "Compositional Questions Do Not Necessitate Multi-hop Reasoning").

With a model the same prompt and reading of the reply as in the product; what it does not say in
the form asked for falls to the rules and is counted. Writes `benchmarks/results/classify.json`.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import os
import random
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.eval_runs import RESULTS, write_results
from secondlook.errors import ModelError
from secondlook.evaluation.statistics import wilson
from secondlook.models.budget import Ledger
from secondlook.models.calls import Models
from secondlook.models.journal import MemoryJournal
from secondlook.models.prices import Caps
from secondlook.roles.route import asked_model, classified
from secondlook.settings.sections import ModelSettings, Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.answer import QueryType
    from secondlook.models.calls import Asker

LABELLED = Path(__file__).parent / "sets" / "classify.jsonl"
PUBLIC: dict[str, QueryType] = {
    "hotpot-train": "multi_hop",
    "squad-train": "simple",
    "hotpot": "multi_hop",
    "squad2-dev": "simple",
}
SAMPLE = 1000
SEED = 8


@dataclass(frozen=True, slots=True)
class Labelled:
    question: str
    choices: int
    kind: QueryType
    group: str


@dataclass(frozen=True, slots=True)
class Told:
    asked: Labelled
    kind: QueryType
    read: bool = True
    """Whether the classifier itself told it; else rules did in its place."""


def labelled() -> list[Labelled]:
    rows = [json.loads(line) for line in LABELLED.read_text("utf-8").splitlines()]
    return [
        Labelled(row["question"], len(row["choices"]), row["kind"], row["half"]) for row in rows
    ]


def public(folder: Path) -> list[Labelled]:
    found: list[Labelled] = []
    for name, kind in PUBLIC.items():
        file = folder / name / "queries.jsonl.gz"
        if not file.exists():
            continue
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            questions = [json.loads(line)["question"] for line in lines]
        random.Random(SEED).shuffle(questions)
        found += [Labelled(question, 0, kind, name) for question in questions[:SAMPLE]]
    return found


def by_rules(asked: Labelled) -> Told:
    return Told(asked, classified(asked.question, choices=asked.choices).kind)


async def by_model(models: Asker, asked: Labelled) -> Told:
    try:
        kind = await asked_model(models, asked.question, choices=asked.choices)
    except ModelError:
        return Told(asked, by_rules(asked).kind, read=False)
    return Told(asked, kind)


async def all_by_model(spec: str, questions: Sequence[Labelled]) -> list[Told]:
    services = Models(Settings(models=ModelSettings(default=spec)))
    asker = services.asker(
        run="benchmark", workflow="research", ledger=Ledger(Caps()), journal=MemoryJournal()
    )
    try:
        return [await by_model(asker, asked) for asked in questions]
    finally:
        await services.aclose()


def share(wrong: Sequence[bool]) -> dict[str, Any]:
    value = sum(wrong) / len(wrong)
    low, high = wilson(value, len(wrong))
    return {
        "wrong": sum(wrong),
        "n": len(wrong),
        "share": round(value, 4),
        "low": round(low, 4),
        "high": round(high, 4),
    }


def rates(told: Sequence[Told]) -> dict[str, Any]:
    """Both error rates, over all and for questions with choices and without."""
    made: dict[str, Any] = {}
    for form, some in (
        ("all", told),
        ("open", [one for one in told if not one.asked.choices]),
        ("choices", [one for one in told if one.asked.choices]),
    ):
        for kind, other in (("simple", "multi_hop"), ("multi_hop", "simple")):
            wrong = [one.kind != kind for one in some if one.asked.kind == kind]
            if wrong:
                made.setdefault(form, {})[f"{kind} called {other}"] = share(wrong)
    made["not read"] = sum(not one.read for one in told)
    return made


def by_group(told: Sequence[Told]) -> dict[str, Any]:
    groups = dict.fromkeys(one.asked.group for one in told)
    return {group: rates([one for one in told if one.asked.group == group]) for group in groups}


def told_line(who: str, group: str, found: dict[str, Any]) -> str:
    said = ", ".join(
        f"{name}: {one['wrong']}/{one['n']} ({one['low']:.2f} to {one['high']:.2f})"
        for name, one in found["all"].items()
    )
    return f"{who:12} {group:14} {said}; not read: {found['not read']}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--model", help="also ask this model, such as gguf:PATH")
    options = parser.parse_args()
    ours, data = labelled(), os.environ.get("SECONDLOOK_DATA")
    others = public(Path(data)) if data else []
    results: dict[str, Any] = {
        "what": "share of questions taken for the other kind, with Wilson's 95 % interval",
        "sample": SAMPLE,
        "seed": SEED,
        "rules": by_group([by_rules(asked) for asked in (*ours, *others)]),
    }
    if options.model:
        told = asyncio.run(all_by_model(options.model, ours))
        results["model"] = {"name": Path(options.model).name, **by_group(told)}
    for who in ("rules", "model"):
        for group, found in results.get(who, {}).items():
            if group != "name":
                print(told_line(who, group, found))
    command = f"python -m benchmarks.classify{' --model gguf:PATH' * bool(options.model)}"
    write_results(RESULTS / "classify.json", command, results)


if __name__ == "__main__":
    main()
