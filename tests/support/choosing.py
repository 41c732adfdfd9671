"""Questions with options, and a model that weighs them: it reads what it is shown."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from secondlook.nodes.state import Cited, Sentence, pending
from tests.support.engine import words
from tests.support.function_model import FunctionModel

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from secondlook.models.chat import ChatRequest
    from secondlook.nodes.state import DraftData, StepData

STEM = (
    "A skipper moors at berth 4 overnight without calling the harbour office. In the morning his "
    "boat touches the ground. May he claim damages from the harbour?"
)
OPTIONS = {
    "A": "Yes, because the harbour owes every boat a safe berth.",
    "B": "Yes, because the berth had lost depth.",
    "C": "No, because he did not call the harbour office before mooring.",
    "D": "No, because boats are moored at the risk of the weather.",
}
FOUND = (
    "A boat whose skipper did not call the harbour office before mooring has no claim.",
    "The harbour answers for depths that it has told a skipper on channel 12.",
)
RIGHT = "C"
_EVIDENCE = re.compile(r"<<evidence-\w+ (\d+)>> (.*)")
_OPTION = re.compile(r"^([A-Z]): (.*)$", re.MULTILINE)


def sentence(text: str, at: int) -> Sentence:
    """A finding that stands on a place of its own."""
    cited = Cited(passage=f"rules.{at}", start=100 * at, end=100 * at + len(text))
    return Sentence(text=text, cited=[cited], support=0.9, supported=True)


def draft(texts: Sequence[str] = FOUND, **given: Any) -> DraftData:
    made: DraftData = {
        "method": "generative",
        "model": "ollama:function",
        "sentences": [sentence(text, at) for at, text in enumerate(texts)],
        "short": None,
        "stop": "answered",
        "confidence": None,
        "reasons": [],
        "note": None,
    }
    return {**made, **given}  # type: ignore[typeddict-item]


def plan(status: str = "completed", confidence: float | None = 0.8) -> list[StepData]:
    step = pending(1, "When has a skipper a claim?", phase="Rule")
    return [{**step, "status": status, "confidence": confidence}]  # type: ignore[typeddict-item]


def choice_state(**given: Any) -> Any:
    return {
        "question": STEM,
        "scope": {"documents": None, "labels": []},
        "choices": dict(OPTIONS),
        "draft": draft(),
        "plan": plan(),
        **given,
    }


def shown_options(request: ChatRequest) -> dict[str, str]:
    asked = [one.content for one in request.messages if one.role == "user"]
    return dict(_OPTION.findall(next(text for text in reversed(asked) if _OPTION.search(text))))


def shown_research(request: ChatRequest) -> dict[int, str]:
    asked = [one.content for one in request.messages if one.role == "user"]
    text = next((text for text in reversed(asked) if _EVIDENCE.search(text)), "")
    return {int(number): said for number, said in _EVIDENCE.findall(text)}


def weigh(request: ChatRequest) -> str:
    """The option that shares most words with the research is right."""
    options, research = shown_options(request), shown_research(request)
    known = set().union(*(words(text) for text in research.values()))
    likes = {letter: len(words(text) & known) for letter, text in options.items()}
    best = max(likes, key=lambda letter: likes[letter])
    return full_reply(options, best)


def full_reply(options: dict[str, str], best: str, **given: Any) -> str:
    judged = [
        {
            "letter": letter,
            "verdicts": [
                {
                    "element": 1,
                    "met": "met" if letter == best else "not met",
                    "fact": "without calling the harbour office",
                }
            ],
            "reason": f"{'It' if letter == best else 'Not it, it'} is about the call.",
        }
        for letter in options
    ]
    elements = [{"element": "He must have called the office", "sources": [1]}]
    return json.dumps({"elements": elements, "options": judged, "answer": best, **given})


def chooser(reply: Callable[[ChatRequest], Any] = weigh) -> FunctionModel:
    return FunctionModel(reply)
