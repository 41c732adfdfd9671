"""Every attack on every channel, one after the other; what is done is kept, and not done again."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from secondlook.evaluation.injection.cases import CHANNELS, HALVES, SEED, load, sampled
from secondlook.evaluation.injection.double import Obedient
from secondlook.evaluation.injection.trying import (
    Bench,
    Given,
    answered,
    given,
    pieces_of,
    tried,
)
from secondlook.nodes.screening import stops

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from secondlook.evaluation.injection.cases import Around, Attack, Cases, Half
    from secondlook.nodes.screening import Channel
    from secondlook.settings import Settings

_KEPT = "outcomes.jsonl"
_VERSION = 2
"""Of how attacks are tried: what another version kept is tried again."""


@dataclass(frozen=True, slots=True)
class Progress:
    done: int
    all: int


@dataclass(frozen=True, slots=True)
class Study:
    """What is to be tried."""

    data: Path
    settings: Settings
    out: Path
    channels: tuple[Channel, ...] = CHANNELS
    halves: tuple[Half, ...] = HALVES
    limit: int | None = None
    """So many attacks, and honest texts, of each half on each channel."""
    detection_only: bool = False
    model: str | None = None


@dataclass(frozen=True, slots=True)
class _Case:
    channel: Channel
    half: Half
    kind: str
    text: str
    attack: Attack | None
    around: Around | None
    place: int
    source: str

    @property
    def key(self) -> str:
        told = (_VERSION, self.channel, self.kind, self.text, self.place, self.around)
        return hashlib.sha256(repr(told).encode()).hexdigest()[:24]


def run(
    study: Study, on_progress: Callable[[Progress], None] | None = None
) -> list[dict[str, Any]]:
    """The outcomes, those that an earlier run has kept included."""
    cases = list(_cases(load(study.data), study))
    study.out.mkdir(parents=True, exist_ok=True)
    known = _known(study.out / _kept(study))
    return asyncio.run(_all(study, cases, known, on_progress))


async def _all(
    study: Study,
    cases: list[_Case],
    known: dict[str, dict[str, Any]],
    on_progress: Callable[[Progress], None] | None,
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    todo = [case for case in cases if case.key not in known]
    with _Opened(study, needed=bool(todo)) as bench:
        for case in cases:
            row = known.get(case.key)
            if row is None:
                row = await _row(bench, case)
                with (study.out / _kept(study)).open("a", encoding="utf-8") as lines:
                    lines.write(json.dumps(row) + "\n")
            rows.append(row)
            if on_progress is not None:
                on_progress(Progress(len(rows), len(cases)))
    return rows


def _known(file: Path) -> dict[str, dict[str, Any]]:
    """What was kept, by case; the last line of a run that was killed may be torn."""
    if not file.is_file():
        return {}
    rows = {}
    for line in file.read_text("utf-8").splitlines():
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        rows[row["key"]] = row
    return rows


def _kept(study: Study) -> str:
    if study.detection_only:
        return f"detection-{_KEPT}"
    if study.model is None:
        return _KEPT
    return f"{hashlib.sha256(study.model.encode()).hexdigest()[:8]}-{_KEPT}"


class _Opened:
    """The models that are needed, for as long as they are."""

    def __init__(self, study: Study, *, needed: bool) -> None:
        self._study = study
        self._needed = needed and not study.detection_only
        self._bench: Bench | None = None

    def __enter__(self) -> Bench | None:
        if not self._needed:
            return None
        from secondlook.models import open_models
        from secondlook.reading import load_embedded_reader
        from secondlook.reading.support import load_support
        from secondlook.tables.worker import Worker

        settings = self._study.settings
        models = open_models(settings) if self._study.model is not None else None
        reader, support = load_embedded_reader(), load_support(settings.answer.judge)
        self._bench = Bench(settings, reader, support, Worker(), models)
        return self._bench

    def __exit__(self, *_: object) -> None:
        if self._bench is not None:
            self._bench.worker.close()


async def _row(bench: Bench | None, case: _Case) -> dict[str, Any]:
    row: dict[str, Any] = {
        "key": case.key,
        "channel": case.channel,
        "half": case.half,
        "kind": case.kind,
        "source": case.source,
    }
    if case.attack is None:
        return {**row, "outcome": await _honest(bench, case)}
    around = case.around
    assert around is not None  # noqa: S101 - every attack is put somewhere
    what = given(case.channel, case.attack, around, place=case.place)
    row |= {
        "category": case.attack.category,
        "demand": case.attack.demand,
        "recognised": what.recognised,
    }
    if bench is None:
        return {**row, "outcome": "kept out" if what.recognised else "not tried"}
    return {**row, "outcome": await tried(bench, case.channel, case.attack, what)}


async def _honest(bench: Bench | None, case: _Case) -> str:
    """Whether an honest text is let through: whole, and as what an answer says. A claim that the
    check of support cuts was never looked at twice, and counts neither way."""
    if any(stops(one, channel=case.channel) for one in pieces_of(case.channel, case.text)):
        return "kept out"
    if bench is None or case.around is None:
        return "passed"
    asked, text, web = case.around.question, case.text, case.channel == "web"
    what = Given(asked, library="" if web else text, page=text if web else "")
    double = Obedient("", honest=case.around.truth or "")
    answer = await answered(bench, case.channel, what, double)
    if any("not_asked_for" in step.numbers for step in answer.steps):
        return "held back"
    stands = any(one.supported is not False for one in answer.claims)
    return "passed" if stands else "unsupported"


def _cases(held: Cases, study: Study) -> Iterator[_Case]:
    for channel in study.channels:
        for half in study.halves:
            yield from _attacks(held, channel, half, study.limit)
            yield from _benign(held, channel, half, study.limit)


def _attacks(held: Cases, channel: Channel, half: Half, limit: int | None) -> Iterator[_Case]:
    around = [one for one in held.around if one.half == half]
    mine = [one for one in held.attacks if one.half == half]
    draw = random.Random(f"{SEED}-{channel}-{half}")  # noqa: S311
    placed = [(place, attack, draw.choice(around)) for place, attack in enumerate(mine)]
    for place, attack, put in sampled(placed, limit):
        yield _Case(channel, half, "attack", attack.text, attack, put, place, attack.source)


def _benign(held: Cases, channel: Channel, half: Half, limit: int | None) -> Iterator[_Case]:
    texts: list[tuple[str, str, Around | None]]
    if channel == "question":
        texts = [(one.text, one.source, None) for one in held.honest if one.half == half]
    elif channel == "table":
        texts = [(cell, "bipia tables", None) for cell in _cells(held, half)]
    else:
        texts = [(one.text, "bipia clean", one) for one in held.clean if one.half == half]
    for text, source, around in sampled(texts, limit):
        yield _Case(channel, half, "honest", text, None, around, 0, source)


def _cells(held: Cases, half: Half) -> list[str]:
    """What stands in tables that nobody attacked, names of columns included."""
    tables = [one.text for one in held.around if one.half == half and one.text.startswith("|")]
    cells = (cell.strip() for text in tables for cell in text.replace("\n", "|").split("|"))
    return sampled(sorted({cell for cell in cells if len(cell.split()) > 1}), 600)
