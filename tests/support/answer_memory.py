"""A research that is worth remembering, and memories to put it in."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from secondlook.nodes.state import DraftData, Sentence, StepData, pending, unread
from secondlook.store.answers import AnswerMemory, Asking, CitedText
from tests.support.engine import WordShelf, context_of, settings_of, state_of

if TYPE_CHECKING:
    from secondlook.nodes.context import Context
    from secondlook.settings.sections import Settings

ASKED = "How deep is berth 4 of the north quay?"
REWORDED = "Can you tell me how deep berth 4 of the north quay is?"
ASKING = Asking(scope="all", manner="usual")
PASSAGE = "survey.0"


def draft_of(passage: str = PASSAGE, **changed: Any) -> DraftData:
    sentence = Sentence(
        text="Berth 4 is 7.8 metres deep.",
        cited=[{"passage": passage, "start": 0, "end": 48}],
        support=0.97,
        supported=True,
    )
    draft = DraftData(
        method="extractive",
        model=None,
        sentences=[sentence],
        short="7.8 metres",
        stop="answered",
        confidence=0.9,
        reasons=[],
        note=None,
    )
    return {**draft, **changed}  # type: ignore[typeddict-item]


def step_of(passage: str = PASSAGE, *, confidence: float | None = 0.95, **changed: Any) -> StepData:
    done = pending(1, ASKED, phase="Findings", queries=[ASKED])
    done |= {"status": "completed", "confidence": confidence, "draft": draft_of(passage)}
    return {**done, **changed}  # type: ignore[typeddict-item]


def researched(question: str = ASKED, **changed: Any) -> dict[str, Any]:
    """The state of a run whose research is done."""
    state = state_of(
        question,
        found=[unread(item) for item in WordShelf().held],
        plan=[step_of()],
        draft=draft_of(),
        query_type="simple",
        classified_by="understander",
        escalated=False,
        cycles=1,
        stopped="the step was completed",
        choices={},
        recalled=None,
        choice=None,
    )
    return {**state, **changed}


def remembering(
    memory: AnswerMemory | None, *, shelf: WordShelf | None = None, settings: Settings | None = None
) -> Context:
    """A context in which all vectors are as alike as words are."""
    chosen = settings or settings_of(research={"memory_similarity": 0.5, "min_confidence": 0.5})
    made = context_of(shelf=shelf or WordShelf(), settings=chosen, workflow="research")
    return replace(made, memory=memory)


def put(memory: AnswerMemory, question: str, vector: list[float], **changed: Any) -> int:
    given: dict[str, Any] = {
        "asking": ASKING,
        "run": "run-1",
        "created": "2026-01-02T03:04:05+00:00",
        "cited": [CitedText.of(PASSAGE, "text")],
        "research": {"plan": [step_of()], "found": [], "draft": draft_of()},
    }
    return memory.put(question, vector, **{**given, **changed})
