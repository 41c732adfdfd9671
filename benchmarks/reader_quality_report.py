"""Every figure from what was read so far, and whether it shows what a shipped reader must."""

from __future__ import annotations

import json
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.reader_quality_compare import (
    REFERENCE,
    SHIPPED,
    Read,
    against_hybrid,
    answerability,
    answerable,
    answers,
    compares,
    elsewhere,
    retrieval,
    times,
)
from benchmarks.reader_quality_grades import graded
from benchmarks.reader_quality_musts import musts
from benchmarks.reader_quality_risk import (
    Sample,
    below,
    best_features,
    chooses_features,
    compared_features,
    judged,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from benchmarks.reader_quality_cases import Case

RESULTS = Path(__file__).resolve().parent / "results" / "reader_quality.json"
CALIBRATION = Path(__file__).resolve().parents[1] / "src/secondlook/reading/calibration.json"
Names = dict[str, tuple[str, ...]]


def report(
    read: Read,
    *,
    features: Sequence[str] | None,
    tell: Callable[[str], None],
    file: Path = RESULTS,
) -> dict[str, Any]:
    """All that can be computed from what is there; a set that nobody read is left out."""
    choice = json.loads(CALIBRATION.read_text("utf-8"))["choice"]
    held, squad = answerable(read.of("squad2-dev")), read.mixed("squad2-dev")
    _need(squad)
    tell(f"squad2-dev: {_count(held)} answerable questions, {_count(squad)} of both kinds")
    compared = {label: _compared(cases, choice) for label, cases in squad.items()}
    names: Names = {
        label: tuple(features) if features else best_features(compared[label]) for label in squad
    }
    tell(f"features: {names}")
    found: dict[str, Any] = {
        "made": datetime.now(UTC).date().isoformat(),
        "machine": f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}",
        "readers": {label: read.store.readers()[label] for label in read.labels},
        "choice": choice,
        "features": {label: list(chosen) for label, chosen in names.items()},
        "feature_sets": compared,
        "answers": answers(held, choice),
        "times": times(read.of("squad2-dev")),
        "answerability": answerability(squad, choice, names),
    }
    tell("calibration")
    found["calibration"] = _calibration(read, choice, names)
    tell("other sets")
    found["elsewhere"] = _elsewhere(read, choice, names)
    found["grading"] = {label: graded(cases) for label, cases in squad.items()}
    found["must_show"] = musts(found) if compares(squad) else []
    file.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return found


def _need(squad: Mapping[str, list[Case]]) -> None:
    if not squad or not next(iter(squad.values())):
        raise SystemExit("no question of squad2-dev was read by all of these readers: read first")


def _count(by_label: Mapping[str, list[Case]]) -> int:
    return len(next(iter(by_label.values())))


def _compared(cases: Sequence[Case], choice: Mapping[str, float]) -> dict[str, Any]:
    """On half of the articles: that is where the features are chosen."""
    chosen = [case for case in cases if chooses_features(case.question.article)]
    return compared_features(Sample.of(chosen, choice))


def _calibration(read: Read, choice: Mapping[str, float], names: Names) -> dict[str, Any]:
    """Probabilities and promises of each reader on all that it has read; the areas under their
    curves on what both have."""
    alone = {label: Read(read.store, (label,)) for label in read.labels}
    mixed = {label: one.mixed("squad2-dev")[label] for label, one in alone.items()}
    held = {label: answerable(one.of("squad2-dev"))[label] for label, one in alone.items()}
    common = {"all": read.mixed("squad2-dev"), "answerable": answerable(read.of("squad2-dev"))}
    found: dict[str, Any] = {}
    for group, by_label in (("all", mixed), ("answerable", held)):
        found[group] = {
            label: judged(Sample.of(cases, choice), names[label])
            for label, cases in by_label.items()
        }
        samples = {label: Sample.of(cases, choice) for label, cases in common[group].items()}
        if compares(samples):
            found[group]["aurc"] = below(
                samples[REFERENCE],
                samples[SHIPPED],
                {"base": names[REFERENCE], "other": names[SHIPPED]},
            )
    return found


def _elsewhere(read: Read, choice: Mapping[str, float], names: Names) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if any((wiki := read.of("shift-new_wiki")).values()):
        found["shift-new_wiki"] = answers(wiki, choice)
    for name, metric in (("hotpot", "recall@5"), ("scifact", "ndcg@10")):
        by_label = answerable(read.of(name))
        if any(by_label.values()):
            found[name] = {
                "questions": len(next(iter(by_label.values()))),
                metric: retrieval(by_label, metric),
                "hybrid": against_hybrid(by_label, metric),
            }
    if any((given := read.of("clapnq")).values()):
        found["clapnq"] = elsewhere(given, read.mixed("squad2-dev"), choice, names)
    return found
