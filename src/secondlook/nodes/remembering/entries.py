"""Research as it is remembered, and as it is taken up again."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from secondlook.memory.answers import Asking, CitedText

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.context import Context
    from secondlook.memory.answers import Entry
    from secondlook.models import Role
    from secondlook.state import DraftData, Scope, StepData

FORMAT = 1
"""Raised when what is remembered changes its form: what an older version wrote is then not used."""
KEPT = (
    "plan",
    "found",
    "draft",
    "query_type",
    "classified_by",
    "escalated",
    "cycles",
    "stopped",
)
"""Of the state; never what was chosen, which is done anew for the choices at hand."""
_SHAPING_NOTHING = frozenset(
    {
        "enable_memory",
        "enable_recall",
        "memory_similarity",
        "enable_screen",
        "enable_screen_model",
        "enable_choosing",
        "enable_shuffled_choice",
        "guess",
    }
)
"""Settings of research that leave its findings as they are."""
_ROLES: tuple[Role, ...] = ("plan", "rewrite", "answer")


def asking_of(context: Context, scope: Scope, choices: Mapping[str, str]) -> Asking:
    """What research must share with this question's to be used for it.

    Choices shape research only where they are made into questions of it."""
    settings = context.settings
    shaping = settings.research.model_dump(mode="json", exclude=set(_SHAPING_NOTHING))
    manner = {
        "format": FORMAT,
        "workflow": context.workflow,
        "research": shaping,
        "web": settings.web.enable_web_search,
        "models": [context.models.name(role) for role in _ROLES],
        "choices": sorted(choices.values()) if settings.research.enable_issues else [],
    }
    return Asking(scope=_digest(scope), manner=_digest(manner))


def remembered(state: Mapping[str, Any], cited: Sequence[str]) -> dict[str, Any]:
    """What is kept of a research that rests on these passages."""
    kept = {name: state[name] for name in KEPT if name in state}
    kept["found"] = [item for item in state.get("found", []) if item["id"] in set(cited)]
    return kept


def cited_passages(draft: DraftData, plan: Sequence[StepData]) -> list[str]:
    """The passages that the answer, or the findings of a step, cite; each once."""
    drafts = [draft, *(step["draft"] for step in plan if step["draft"] is not None)]
    return list(
        dict.fromkeys(
            place["passage"]
            for one in drafts
            for sentence in one["sentences"]
            for place in sentence["cited"]
        )
    )


def as_they_are(context: Context, passages: Sequence[str]) -> list[CitedText]:
    """These passages by what they say now; those that are gone are left out."""
    held = context.shelf.passages(list(passages))
    return [CitedText.of(name, held[name].text) for name in passages if name in held]


def is_readable(entry: Entry) -> bool:
    return bool(entry.cited) and {"plan", "found", "draft"} <= entry.research.keys()


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
