"""Which passages the steps of a research were shown, and the typed records of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from secondlook.nodes import ranking
from secondlook.state import EvidenceData

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.answer import StepStatus
    from secondlook.state import Found, StepData

PART: Final = "Part of the question"
"""Phase of a step that asks one of several questions in one."""
STANDING: frozenset[StepStatus] = frozenset({"completed", "weak"})
"""Of steps whose findings are part of the answer."""


def standing(plan: Sequence[StepData]) -> list[StepData]:
    return [step for step in plan if step["status"] in STANDING]


def failed(plan: Sequence[StepData]) -> list[StepData]:
    return [step for step in plan if step["status"] == "failed"]


def shown_before(plan: Sequence[StepData], step: StepData) -> frozenset[str]:
    """What no step may be shown again. A retry may: what failed the first wording may well answer
    the next. So may a part of the question: its answer may stand beside that of another part."""
    if step["phase"] == PART:
        return frozenset()
    earlier = [one for one in plan if one["id"] < step["id"]]
    if step["retry_of"] is not None:
        earlier = standing(earlier)
    return frozenset(kept_of(earlier))


def kept_of(plan: Sequence[StepData]) -> list[str]:
    """The passages that these steps were shown."""
    return [record["passage"] for step in plan for record in step["evidence"] if record["kept"]]


def of_step(found: Sequence[Found], step: StepData) -> list[Found]:
    """What a step found, best first."""
    return [item for item in found if item["search"] == step["id"]]


def joined(before: Sequence[Found], now: Sequence[Found]) -> list[Found]:
    """All that was found, each passage once, as the step that was shown it last saw it: first what
    was kept, step by step."""
    firm = {item["id"] for item in ranking.kept(before)}
    new = [item for item in now if item["kept"] or item["id"] not in firm]
    again = {item["id"] for item in new}
    found = [*(item for item in before if item["id"] not in again), *new]
    return sorted(found, key=lambda item: (not item["kept"], item["search"]))


def records(items: Sequence[Found], cosines: Mapping[str, float]) -> list[EvidenceData]:
    return [
        EvidenceData(
            passage=item["id"],
            rank=rank,
            score=item["score"],
            relevance=item["relevance"],
            answerable=item["answerable"],
            cosine=cosines.get(item["id"]),
            kept=item["kept"],
            why=item["why"],
        )
        for rank, item in enumerate(items, 1)
    ]


def titles(found: Sequence[Found], step: StepData, most: int = 3) -> list[str]:
    """Of the best passages that a step was shown."""
    return list(dict.fromkeys(item["title"] for item in ranking.kept(of_step(found, step))))[:most]
