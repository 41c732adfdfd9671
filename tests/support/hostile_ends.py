"""What holds of every hostile run, whatever workflow made it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Protocol, get_args

from secondlook.answer import Answer, Status, StopReason
from secondlook.nodes.finish import FAILED

if TYPE_CHECKING:
    from secondlook.settings.sections import Settings


class Bounds(Protocol):
    """`graphs.corrective_bounds`, `graphs.research_bounds`."""

    def most_visits(self, settings: Settings) -> int: ...
    def most_by_node(self, settings: Settings) -> dict[str, int]: ...
    def most_asked(self, settings: Settings) -> int: ...
    def most_calls(self, settings: Settings) -> int: ...


def over_the_bounds(answer: Answer, asked: int, settings: Settings, bounds: Bounds) -> list[str]:
    visits = Counter(step.node for step in answer.steps)
    most = bounds.most_by_node(settings)
    wrong = {
        f"{node}: {count} visits, of at most {most.get(node, 0)}": count > most.get(node, 0)
        for node, count in visits.items()
    }
    wrong["too many visits"] = visits.total() > bounds.most_visits(settings)
    wrong["too many questions to models"] = asked > bounds.most_asked(settings)
    wrong["too many calls"] = answer.usage.calls > bounds.most_calls(settings)
    return [name for name, found in wrong.items() if found]


def contradictions(answer: Answer) -> dict[str, bool]:
    """What no answer may be, by name, and whether this one is."""
    numbers = {citation.number for citation in answer.citations}
    claimed = answer.status in {"answered", "partial"}
    return {
        "untyped end": answer.status not in get_args(Status)
        or answer.stop_reason not in get_args(StopReason),
        "no text": not answer.text.strip(),
        "an answer without claims": claimed and not answer.claims,
        "withheld, and yet claimed": not claimed and bool(answer.claims or answer.citations),
        "answered for another reason": (answer.status == "answered")
        and answer.stop_reason != "answered",
        "withheld because it was answered": not claimed and answer.stop_reason == "answered",
        "failed for no reason": (answer.status == "failed")
        != (answer.stop_reason in FAILED and not claimed),
        "a citation that does not exist": any(
            number not in numbers for claim in answer.claims for number in claim.citations
        ),
        "an empty quote": any(not citation.quote for citation in answer.citations),
        "no round trip": Answer.model_validate_json(answer.model_dump_json()) != answer,
    }
