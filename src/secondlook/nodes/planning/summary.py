"""What a planner is told of the steps so far, taken from their records.

Nothing is cut in mid-sentence: of the findings as many whole sentences are told as fit, the best
supported first. A failed step tells what it asked and where it looked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from secondlook.models.counting import approximate_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from secondlook.state import Sentence, StepData

TOKENS: Final = 600
"""Of findings, over all steps."""
_MOST_TITLES: Final = 3
_LONGEST_TITLE: Final = 120


def told(plan: Sequence[StepData], titles: Mapping[str, str] | None = None) -> str:
    """All of them as one text; `titles` are those of passages, by id."""
    return "\n".join(
        f"{step['id']}. {record}"
        for step, record in zip(_done(plan), records(plan, titles), strict=True)
    )


def records(
    plan: Sequence[StepData], titles: Mapping[str, str] | None = None, *, tokens: int = TOKENS
) -> list[str]:
    """One text for each step that was tried, in order."""
    done = _done(plan)
    each = tokens // max(1, len(done))
    return [_record(step, titles or {}, each) for step in done]


def _done(plan: Sequence[StepData]) -> list[StepData]:
    return [step for step in plan if step["status"] != "pending"]


def _record(step: StepData, titles: Mapping[str, str], tokens: int) -> str:
    sure = step["confidence"]
    confidence = "" if sure is None else f" ({sure:.2f})"
    what = _flat(" ".join(_findings(step, tokens)))
    if step["status"] == "failed" or not what:
        listed = "; ".join(_titles(step, titles))
        what = f"found no answer, best passages: {listed}" if listed else "found no answer"
    heading = f"{_flat(step['phase'])}: {_flat(step['question'])}"
    return f"{heading}\n{step['status']}{confidence}: {what}"


def _findings(step: StepData, tokens: int) -> Iterator[str]:
    """Whole sentences, while there is room. A first one that is too long alone is told all the
    same: a step without its findings would look as if it had none."""
    draft = step["draft"]
    left = tokens
    for at, sentence in enumerate(_best_first(draft["sentences"] if draft else ())):
        text = _flat(sentence["text"])
        left -= approximate_tokens(text)
        if at and left < 0:
            return
        yield text


def _best_first(sentences: Sequence[Sentence]) -> list[Sentence]:
    carried = [one for one in sentences if one["supported"] is not False and one["text"].strip()]
    return sorted(carried, key=lambda one: -(one["support"] or 0.0))


def _titles(step: StepData, titles: Mapping[str, str]) -> list[str]:
    ranked = sorted(step["evidence"], key=lambda item: item["rank"])
    named = (_flat(titles.get(item["passage"], ""))[:_LONGEST_TITLE] for item in ranked)
    return list(dict.fromkeys(filter(None, named)))[:_MOST_TITLES]


def _flat(text: str) -> str:
    return " ".join(text.split())
