"""What the parts of a question found, as the evidence of the whole question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.nodes import ranking

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.state import DraftData, Found


def pooled(
    before: Sequence[Found], now: Sequence[Found], drafts: Sequence[DraftData | None], *, k: int
) -> list[Found]:
    """Everything found so far, each passage once. First what the parts rest on, then the best of
    this part and of those before in turn; `k` are kept, and whatever is cited."""
    by_id = {item["id"]: item for item in before}
    for item in now:
        known = by_id.get(item["id"])
        by_id[item["id"]] = item if known is None else _better(known, item)
    cited = [name for name in cited_by(drafts) if name in by_id]
    turns = _in_turn([_ids(ranking.kept(now)), _ids(ranking.kept(before))])
    kept = list(dict.fromkeys([*cited, *turns]))[: max(k, len(cited))]
    rest = [name for name in dict.fromkeys([*_ids(now), *_ids(before)]) if name not in set(kept)]
    firm = set(cited)
    return [
        *(_marked(by_id[name], kept=True, cited=name in firm) for name in kept),
        *(_marked(by_id[name], kept=False, cited=False) for name in rest),
    ]


def cited_by(drafts: Sequence[DraftData | None]) -> list[str]:
    """The passages that drafts rest on, in order."""
    return list(
        dict.fromkeys(
            place["passage"]
            for draft in drafts
            if draft is not None
            for sentence in draft["sentences"]
            for place in sentence["cited"]
        )
    )


def _better(known: Found, again: Found) -> Found:
    """Read for another question, a passage keeps the reading in which it fits better."""
    one, other = known["relevance"], again["relevance"]
    return known if other is None or (one is not None and one >= other) else again


def _in_turn(lists: Sequence[list[str]]) -> list[str]:
    longest = max(map(len, lists), default=0)
    return [names[at] for at in range(longest) for names in lists if at < len(names)]


def _ids(found: Sequence[Found]) -> list[str]:
    return [item["id"] for item in found]


def _marked(item: Found, *, kept: bool, cited: bool) -> Found:
    if cited:
        why = "a part of the answer rests on it"
    elif kept:
        why = "among the best for a part of the question"
    else:
        why = "others fit better" if item["kept"] else item["why"]
    return {**item, "kept": kept, "why": why}
