"""Questions of multiple choice: what retrieval and research buy the same model.

    export SECONDLOOK_DATA=FOLDER
    python -m benchmarks.multiple_choice --set barexam --limit 30 --model gguf:FILE
    python -m benchmarks.multiple_choice --set mmlu-law --limit 100 --model gguf:FILE
    python -m benchmarks.multiple_choice --set barexam --limit 30 --model gguf:FILE --repeats 5

| condition | evidence for the choice |
|---|---|
| `alone` | none: the model's own knowledge, one call |
| `plain` | the best five passages of one search for the question |
| `gold` | the passages that the set names |
| `research` | what the workflow finds, writes and checks, within `--calls` model calls |

A set without a corpus has only `alone` and `research`, which then may guess. `gold` right and
`research` wrong is an error of retrieval; `gold` wrong is one of selection. `--repeats` asks
`--repeat-questions` of them so many times more, at temperature 0 and at 0.7, each time with another
seed, and counts how often the letter flips.

Rows lie under `.cache/multiple_choice`, a file for each condition; the same command goes on where
it was interrupted, and `--fresh` begins anew. Writes benchmarks/results/multiple_choice_SET.json:
figures alone, no question.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.eval_runs import RESULTS, write_results
from benchmarks.eval_sets import ROOT
from benchmarks.multiple_choice_asking import (
    CONDITIONS,
    WORKFLOW,
    Desk,
    Material,
    settings_for,
)
from benchmarks.multiple_choice_figures import figures, flips, table
from secondlook.models.roles import ROLES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.multiple_choice_asking import Condition
    from secondlook.evaluation.records import Case
    from secondlook.settings import Settings

TEMPERATURES = (0.0, 0.7)
CACHE = ROOT / ".cache" / "multiple_choice"


@dataclass(frozen=True, slots=True)
class Kept:
    """Rows of one condition on disk, one line each; a line that was cut off is asked again."""

    file: Path

    def rows(self) -> dict[tuple[str, int], dict[str, Any]]:
        found = {}
        lines = self.file.read_text("utf-8").splitlines() if self.file.exists() else []
        for line in lines:
            try:
                row = json.loads(line)
            except json.JSONDecodeError:
                continue
            found[row["case"], row["repeat"]] = row
        return found

    def add(self, row: dict[str, Any]) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        held = self.file.read_bytes() if self.file.exists() else b""
        begin = "\n" if held and not held.endswith(b"\n") else ""
        with self.file.open("a", encoding="utf-8") as file:
            file.write(f"{begin}{json.dumps(row)}\n")


@dataclass(frozen=True, slots=True)
class Plan:
    material: Material
    folder: Path
    model: str
    profile: str
    calls: int

    def settings(self, options: Sequence[str] = ()) -> Settings:
        """Without a corpus research finds nothing, and may guess."""
        guess = not self.material.data.has_corpus
        return settings_for(
            self.model, self.profile, calls=self.calls, guess=guess, options=options
        )

    async def condition(self, name: Condition) -> list[dict[str, Any]]:
        settings = self.settings()
        if name == "alone":
            settings = settings_for(self.model, self.profile, calls=self.calls, guess=True)
        cases = self.material.cases
        return await self._asked(name, Kept(self.folder / f"{name}.jsonl"), settings, cases)

    async def repeats(self, temperature: float, number: int, questions: int) -> dict[str, Any]:
        kept = Kept(self.folder / f"repeats-{temperature:g}.jsonl")
        rows: list[dict[str, Any]] = []
        for repeat in range(number):
            options = [f"{role}.temperature={temperature:g}" for role in ROLES]
            options += [f"{role}.seed={repeat + 1}" for role in ROLES]
            cases = self.material.cases[:questions]
            rows += await self._asked(WORKFLOW, kept, self.settings(options), cases, repeat=repeat)
        return {"temperature": temperature, **flips(rows)}

    async def _asked(
        self,
        name: Condition,
        kept: Kept,
        settings: Settings,
        cases: Sequence[Case],
        *,
        repeat: int = 0,
    ) -> list[dict[str, Any]]:
        known = kept.rows()
        missing = [case for case in cases if (case.id, repeat) not in known]
        desk = Desk(self.material, settings, repeat) if missing else None
        try:
            for number, case in enumerate(missing, start=1):
                assert desk is not None  # noqa: S101 - there is one where something is missing
                made = await desk.ask(case, name)
                kept.add(made.row)
                known[case.id, repeat] = made.row
                _tell(name, number, len(missing), made.row)
        finally:
            if desk is not None:
                await desk.aclose()
        return [known[case.id, repeat] for case in cases]


def _tell(name: str, number: int, total: int, row: dict[str, Any]) -> None:
    said = f"{name}: {number} of {total}, {row['calls']} calls, {row['seconds']:.1f} s"
    print(said, file=sys.stderr, flush=True)


async def measured(plan: Plan, options: argparse.Namespace) -> dict[str, Any]:
    there: tuple[Condition, ...] = (
        CONDITIONS if plan.material.data.has_corpus else ("alone", WORKFLOW)
    )
    wanted = [name for name in there if name in options.conditions.split(",")]
    rows: dict[str, list[dict[str, Any]]] = {name: await plan.condition(name) for name in wanted}
    repeated = [
        await plan.repeats(temperature, options.repeats, options.repeat_questions)
        for temperature in TEMPERATURES
        if options.repeats
    ]
    return {**figures(rows), "repeats": repeated}


def main() -> None:
    options = parsed()
    model = Path(options.model).name
    folder = CACHE / f"{options.name}-{model}-{options.profile}-{options.calls}"
    if options.fresh:
        for file in folder.glob("*.jsonl"):
            file.unlink()
    settings = settings_for(options.model, options.profile, calls=options.calls, guess=False)
    material = Material.of(options.name, options.limit, settings)
    try:
        plan = Plan(material, folder, options.model, options.profile, options.calls)
        content = asyncio.run(measured(plan, options))
    finally:
        material.close()
    asked = {"set": options.name, "model": model, "profile": options.profile}
    content = {**asked, "questions": len(material.cases), "most_calls": options.calls, **content}
    arguments = " ".join(sys.argv[1:]).replace(options.model, f"gguf:{model}")
    command = f"python -m benchmarks.multiple_choice {arguments}"
    write_results(RESULTS / f"multiple_choice_{options.name}.json", command, content)
    print(table(content))


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--set", dest="name", default="barexam")
    parser.add_argument("--limit", type=int, default=30)
    parser.add_argument("--model", required=True, help="such as gguf:FILE")
    parser.add_argument("--profile", default="law", help="a preset: law, general, seed-001")
    parser.add_argument("--calls", type=int, default=6, help="model calls of a question; 0 = any")
    parser.add_argument("--conditions", default=",".join(CONDITIONS))
    parser.add_argument("--repeats", type=int, default=0)
    parser.add_argument("--repeat-questions", type=int, default=6)
    parser.add_argument("--fresh", action="store_true", help="ask again what was asked before")
    return parser.parse_args()


if __name__ == "__main__":
    main()
