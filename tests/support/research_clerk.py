"""A model for runs of `research`: it reads each prompt and answers from what is in it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from tests.support.engine import words
from tests.support.function_model import FunctionModel
from tests.support.research_world import MATTERS, Matter

if TYPE_CHECKING:
    from collections.abc import Callable

    from secondlook.models.chat import ChatRequest

SPEC: Final = "ollama:clerk"
_OPENINGS: Final = {
    "You plan research": "plan",
    "You decide what research looks up next": "replan",
    "You write three search queries": "queries",
    "You write down what numbered evidence says": "synthesise",
    "You weigh the options": "choose",
    "You choose among the options of a question by what you know": "guess",
    "You sort questions": "classify",
    "You guard a library": "screen",
    "You check numbered sentences": "check_grounded",
}
_BLOCK = re.compile(r"<<evidence-\w+ (\d+)>> ?(.*?)(?=\n<<)", re.DOTALL)
_OPTION = re.compile(r"^([A-Z]): (.*)$", re.MULTILINE)
_SENTENCE = re.compile(r"\S.*?[.!?](?=\s|\Z)")
_ORDERS = re.compile(r"\bignore\b", re.IGNORECASE)


# Reading a prompt


def step_of(request: ChatRequest) -> str:
    """The step whose prompt a model was sent."""
    told = request.messages[0].content
    return next((step for opening, step in _OPENINGS.items() if opening in told), "unknown")


def prompt_of(request: ChatRequest) -> str:
    """What was asked, without the examples: the first remark of the last exchange that is new."""
    asked = [one.content for one in request.messages if one.role == "user"]
    return next(text for text in reversed(asked) if "Weigh the options once more" not in text)


def whole_prompt(request: ChatRequest) -> str:
    return "\n".join(one.content for one in request.messages)


def question_of(request: ChatRequest) -> str:
    """The line that asks."""
    return prompt_of(request).rpartition("Question: ")[2].split("\n", 1)[0].strip()


def shown(request: ChatRequest) -> dict[int, str]:
    return {int(number): text.strip() for number, text in _BLOCK.findall(prompt_of(request))}


def options_of(request: ChatRequest) -> dict[str, str]:
    return dict(_OPTION.findall(prompt_of(request)))


# Replying to it


def matters_in(text: str) -> list[Matter]:
    said = words(text)
    return [matter for matter in MATTERS if matter.sign in said]


def proposal(request: ChatRequest, matter: Matter, **said: str) -> str:
    """In the form that was asked for."""
    made = {"phase": matter.phase, "question": matter.question, **said}
    worded = {"queries": list(matter.queries)} if '"queries"' in whole_prompt(request) else {}
    return json.dumps({**made, **worded})


def plan(request: ChatRequest) -> str:
    """The first matter that the question mentions; one that mentions none is asked as it is."""
    found = matters_in(prompt_of(request).rpartition("Question: ")[2])
    if found:
        return proposal(request, found[0])
    queries = [question_of(request)]
    return json.dumps({"phase": "It", "question": queries[0], "queries": queries})


def replan(request: ChatRequest) -> str:
    """The next matter that no step has asked about; then a failed one in other words, once."""
    tried = " ".join(shown(request).values())
    told = prompt_of(request).rpartition("Question: ")[2].partition("<<evidence")[0]
    for matter in matters_in(told):
        if matter.question not in tried:
            return proposal(request, matter, action="next_step")
    return json.dumps({"action": "complete"})


def retry_at_once(request: ChatRequest) -> str:
    """What failed is asked again in other words before anything else."""
    for record in shown(request).values():
        for matter in MATTERS:
            other = matter.again and matter.again not in whole_prompt(request)
            if matter.question in record and "\nfailed" in record and other:
                return proposal(request, matter, action="retry", question=matter.again)
    return replan(request)


def queries(request: ChatRequest) -> str:
    asked = question_of(request)
    known = next((one for one in MATTERS if asked in {one.question, one.again}), None)
    return json.dumps({"queries": list(known.queries) if known else [asked]})


def synthesise(request: ChatRequest) -> str:
    """Every sentence of the evidence that shares most with the question, cited."""
    asked = words(question_of(request)) - {"the", "who", "for", "and", "that", "when"}
    said = [
        f"{sentence[:-1]} [{number}]."
        for number, text in shown(request).items()
        for sentence in _SENTENCE.findall(text.split("\n", 1)[-1].replace("\n", " "))
        if len(asked & words(sentence)) >= 4 and not _ORDERS.search(sentence)
    ]
    return " ".join(said) or "NOT IN THE EVIDENCE"


def choose(request: ChatRequest) -> str:
    """The option that shares most words with the research has all of it met."""
    options, research = options_of(request), shown(request)
    known = set().union(*(words(text) for text in research.values()))
    likes = {letter: len(words(text) & known) for letter, text in options.items()}
    return weighed(request, max(likes, key=lambda letter: likes[letter]))


def weighed(request: ChatRequest, best: str) -> str:
    """Verdicts on what research was shown, all for one option; facts are the question's own."""
    research, fact = shown(request), " ".join(question_of(request).split()[:6])
    elements = [{"element": text, "sources": [at]} for at, text in list(research.items())[:4]]
    judged = [
        {
            "letter": letter,
            "verdicts": [
                {"element": at, "met": "met" if letter == best else "not met", "fact": fact}
                for at in range(1, len(elements) + 1)
            ],
            "reason": f"It {'is' if letter == best else 'is not'} what the code says.",
        }
        for letter in options_of(request)
    ]
    return json.dumps({"elements": elements, "options": judged, "answer": best})


def classify(request: ChatRequest) -> str:
    return "multi_hop" if len(matters_in(question_of(request))) > 1 else "simple"


def screen(request: ChatRequest) -> str:
    hostile = any(_ORDERS.search(text) for text in shown(request).values())
    return json.dumps({"text": "attack" if hostile else "question"})


def guess(request: ChatRequest) -> str:
    return f"Answer: {list(options_of(request))[-1]}"


def check_grounded(request: ChatRequest) -> str:
    """Whether what is said stands word for word in the evidence of its number."""
    return json.dumps({"verdicts": [{"number": at, "verdict": "yes"} for at in shown(request)]})


_HONEST: Final[dict[str, Callable[[ChatRequest], str]]] = {
    "plan": plan,
    "replan": replan,
    "queries": queries,
    "synthesise": synthesise,
    "choose": choose,
    "guess": guess,
    "classify": classify,
    "screen": screen,
    "check_grounded": check_grounded,
}


def honest(request: ChatRequest) -> str:
    return _HONEST[step_of(request)](request)


class Clerk(FunctionModel):
    """Reads each prompt and answers from what is in it. A step may be given other lines: a text, an
    error, a function of the request, or a list of these, one after the other, the last for ever."""

    def __init__(self, *, local: bool = False, context: int | None = 8192, **lines: Any) -> None:
        super().__init__(self._say, spec=SPEC, context=context, local=local)
        self._lines = {
            step: list(said) if isinstance(said, list) else [said] for step, said in lines.items()
        }
        self.asked: list[str] = []

    def _say(self, request: ChatRequest) -> Any:
        step = step_of(request)
        self.asked.append(step)
        lines = self._lines.get(step) or [_HONEST[step]]
        said = lines.pop(0) if len(lines) > 1 else lines[0]
        if isinstance(said, BaseException):
            raise said
        return said(request) if callable(said) else said

    def prompts(self, *steps: str) -> list[str]:
        """Those that were sent at these steps, or at all, examples and all."""
        return [whole_prompt(one) for one in self.requests if not steps or step_of(one) in steps]
