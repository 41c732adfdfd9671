"""Runs of `corrective` from end to end, and models that do at each step what they are told."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from tests.support.engine import settings_of
from tests.support.function_model import FunctionModel
from tests.support.grading import figures, probed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from secondlook.models.chat import ChatRequest
    from secondlook.models.probe import Probe
    from secondlook.settings.sections import Settings


_OPENINGS: Final = {
    "You grade numbered passages": "grade",
    "You write a search query": "rewrite",
    "You check numbered sentences": "check_grounded",
    "You check whether an answer": "check_useful",
    "You judge an answer": "grade_answer",
    "You split a question": "split",
    "You rewrite": "condense",
    "You answer": "answer",
}
_BLOCK = re.compile(r"<<evidence-\w+ (\d+)>>(.*?)(?=\n<<)", re.DOTALL)
_SENTENCE = re.compile(r"\S.*?[.!?](?=\s|\Z)")
SPEC = "ollama:scripted"


def step_of(request: ChatRequest) -> str:
    """The step whose prompt a model was sent."""
    told = request.messages[0].content
    return next((step for opening, step in _OPENINGS.items() if opening in told), "unknown")


def shown(request: ChatRequest) -> dict[int, str]:
    """The evidence, or the sentences' evidence, by number: of the last prompt, not of examples."""
    last = request.messages[-1].content
    return {int(number): text.strip() for number, text in _BLOCK.findall(last)}


def grades(request: ChatRequest, grade: str | Callable[[str], str]) -> str:
    """Every passage that is shown with a grade, by what it says or the same for all."""
    say = grade if callable(grade) else lambda _: grade
    entries = [{"passage": at, "grade": say(text)} for at, text in shown(request).items()]
    return json.dumps({"grades": entries})


def verdicts(request: ChatRequest, verdict: str) -> str:
    """The same verdict on whatever is asked about: one answer, or each of its sentences."""
    if step_of(request) != "check_grounded":
        return json.dumps({"verdict": verdict})
    entries = [{"number": number, "verdict": verdict} for number in shown(request)]
    return json.dumps({"verdicts": entries})


def sentence_with(request: ChatRequest, words: str) -> str:
    """The sentence of the evidence that has these words, cited: what an honest model writes."""
    for number, text in shown(request).items():
        # A heading is no part of the sentence below it; a sentence may go on in the next line.
        parts = (*text.splitlines(), text.replace("\n", " "))
        for found in (one for part in parts for one in _SENTENCE.findall(part)):
            if words in found:
                return f"{found[:-1]} [{number}]."
    return "NOT IN THE EVIDENCE"


class Scripted(FunctionModel):
    """Says at each step what is written for it: a text, an error, a function of the request, or a
    list of these, one after the other and the last for ever. A step without lines has no model to
    ask, and fails a test that thought otherwise."""

    def __init__(self, **lines: Any) -> None:
        super().__init__(self._say, spec=SPEC, context=8192)
        self._lines = {
            step: list(said) if isinstance(said, list) else [said] for step, said in lines.items()
        }
        self.asked: list[str] = []

    def _say(self, request: ChatRequest) -> Any:
        step = step_of(request)
        self.asked.append(step)
        lines = self._lines.get(step)
        if not lines:
            raise AssertionError(f"nobody should have asked at {step}: {request.messages[-1]!r}")
        said = lines.pop(0) if len(lines) > 1 else lines[0]
        if isinstance(said, BaseException):
            raise said
        return said(request) if callable(said) else said


def fit_probe() -> Probe:
    """Of a model that was measured to grade well: `auto` asks no other."""
    return probed(SPEC, mode="json_schema", grading=figures(fit=True))


def corrective(sections: Mapping[str, Mapping[str, Any]] | None = None, **chosen: Any) -> Settings:
    """Settings of the workflow itself, and of other sections."""
    given = {name: dict(section) for name, section in (sections or {}).items()}
    return settings_of(**given, corrective=chosen)
