"""How many attacks the screen and the quarantine stop, and how many honest texts.

    export SECONDLOOK_DATA=FOLDER
    python -m benchmarks.screening [--model gguf:PATH]

Attacks are typed as questions (`deepset`, `cyberseceval`, `trust_aware`) or stand in passages
(payloads of BIPIA put into its contexts: the start, the middle and the end). Honest texts are
look-alikes (`trust_aware benign`, XSTest, the benign prompts of CyberSecEval, BIPIA's contexts as
they are) and ordinary questions and passages of three evaluation sets. The signs and what they are
worth were set on half of the categories; `screening_cases` says which.

`refused` is what the signs stop. `flagged` adds what they call unclear: a question passes then
unless a model objects, a passage always. Intervals are Wilson's, at 95 %; a payload counts once, in
however many contexts it stands. Writes `benchmarks/results/screening.json`; with `--model` only
what that model says of the unclear questions, to `screening_model.json`.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import sys
import time
import zlib
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from benchmarks.eval_runs import RESULTS, write_results
from benchmarks.screening_cases import HALVES, SEED, cases
from benchmarks.search_data import data_folder
from secondlook.errors import ModelError
from secondlook.evaluation.statistics import wilson
from secondlook.models.budget import Ledger
from secondlook.models.calls import Models
from secondlook.models.journal import MemoryJournal
from secondlook.models.prices import Caps
from secondlook.nodes.context import Context
from secondlook.nodes.screen import is_attack
from secondlook.reading.support import load_support
from secondlook.roles.screen import screened
from secondlook.settings import load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from benchmarks.screening_cases import Case
    from secondlook.roles.screen import Signals

    Judged = list[tuple[Case, Signals]]

ASKED_ANYWAY = 15
LOOKALIKES = ("trust_aware benign", "xstest safe", "cyberseceval_frr")


def share(judged: Judged, holds: Callable[[Case, Signals], bool]) -> dict[str, Any]:
    """Of these, with the interval of as many as there are different ones."""
    if not judged:
        return {"value": None, "n": 0}
    value = sum(holds(case, signals) for case, signals in judged) / len(judged)
    units = len({case.unit for case, _ in judged})
    low, high = wilson(value, units)
    return {
        "value": round(value, 4),
        "low": round(low, 4),
        "high": round(high, 4),
        "n": len(judged),
        "units": units,
    }


def figures(judged: Judged) -> dict[str, Any]:
    return {
        "refused": share(judged, lambda _, signals: signals.verdict == "refused"),
        "flagged": share(judged, lambda _, signals: signals.verdict != "safe"),
    }


def grouped(judged: Judged, name: Callable[[Case], str]) -> dict[str, Any]:
    groups: dict[str, Judged] = defaultdict(list)
    for case, signals in judged:
        groups[name(case)].append((case, signals))
    return {key: figures(groups[key]) for key in sorted(groups)}


def of_half(judged: Judged) -> dict[str, Any]:
    attacks = [one for one in judged if one[0].is_attack]
    honest = [one for one in judged if not one[0].is_attack]
    lookalikes = [one for one in honest if one[0].source in LOOKALIKES]
    return {
        "attacks": {
            kind: figures([one for one in attacks if one[0].kind == kind])
            for kind in ("question", "passage")
        },
        "look-alikes": figures(lookalikes),
        "honest": {
            kind: figures([one for one in honest if one[0].kind == kind])
            for kind in ("question", "passage")
        },
        "by_source": grouped(judged, lambda case: case.source),
        "by_category": grouped(attacks, lambda case: f"{case.source}: {case.category}"),
    }


def milliseconds(judged: Iterable[Case]) -> dict[str, float]:
    """Of processor time, for one passage of ordinary length."""
    took = []
    for case in judged:
        if case.kind == "passage" and not case.is_attack and case.source.endswith("passages"):
            started = time.process_time()
            screened(case.text, kind="passage")
            took.append(1000 * (time.process_time() - started))
    return {
        "median": round(statistics.median(took), 3),
        "p95": round(statistics.quantiles(took, n=20)[-1], 3),
    }


async def asked(judged: Judged, model: str) -> dict[str, Any]:
    """What a model says of the questions that the signs leave unclear, and, to see what its word is
    worth, of look-alikes that no sign speaks against."""
    unclear = [case for case, signals in judged if signals.verdict == "unclear"]
    alike = [case for case, _ in judged if case.source in LOOKALIKES]
    groups = {
        "unclear attacks": [one for one in unclear if one.kind == "question" and one.is_attack],
        "unclear honest": [one for one in unclear if one.kind == "question" and not one.is_attack],
        "look-alikes": random.Random(SEED).sample(alike, ASKED_ANYWAY),
    }
    models = Models(load({"models.default": model}).settings)
    try:
        return {
            name: _counted([await _verdict(models, one) for one in groups[name]]) for name in groups
        }
    finally:
        await models.aclose()


async def _verdict(models: Models, case: Case) -> bool | None:
    ledger, run = Ledger(Caps()), f"bench-{zlib.crc32(case.text.encode())}"
    asker = models.asker(run=run, workflow="research", ledger=ledger, journal=MemoryJournal())
    nothing = cast("Any", None)
    context = Context(
        run=run,
        created="2026-01-01T00:00:00+00:00",
        workflow="research",
        question=case.text,
        settings=load({}).settings,
        shelf=nothing,
        models=asker,
        ledger=ledger,
        support=load_support(),
        pages=nothing,
    )
    print(".", end="", flush=True, file=sys.stderr)
    try:
        return await is_attack(context, {"question": case.text})
    except ModelError:
        return None


def _counted(verdicts: Sequence[bool | None]) -> dict[str, int]:
    return {
        "refused": sum(verdict is True for verdict in verdicts),
        "passed": sum(verdict is False for verdict in verdicts),
        "no verdict": sum(verdict is None for verdict in verdicts),
    }


def ask_model(judged: Judged, model: str) -> None:
    content: dict[str, Any] = {
        half: asyncio.run(asked([one for one in judged if one[0].half == half], model))
        for half in HALVES
    }
    command = f"python -m benchmarks.screening --model gguf:{Path(model).name}"
    write_results(RESULTS / "screening_model.json", command, content)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--model", help="ask it about what the signs leave unclear")
    chosen = parser.parse_args()
    held = cases(data_folder())
    judged = [(case, screened(case.text, kind=case.kind)) for case in held]
    if chosen.model:
        ask_model(judged, chosen.model)
        return
    content: dict[str, Any] = {
        half: of_half([one for one in judged if one[0].half == half]) for half in HALVES
    }
    content["milliseconds"] = milliseconds(held)
    for half in HALVES:
        for source, told in content[half]["by_source"].items():
            print(f"{half:9} {source:22} {told['refused']}")
    write_results(RESULTS / "screening.json", "python -m benchmarks.screening", content)


if __name__ == "__main__":
    main()
