"""Runs of `research` from end to end over the harbour code, with a model that reads its prompts."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from secondlook.answer import Answer
from secondlook.app import Secondlook
from secondlook.graphs.research import build
from secondlook.graphs.research_bounds import most_visits
from secondlook.graphs.research_steps import Steps
from secondlook.models import Models
from secondlook.retrieval.index.port import EVERYTHING
from secondlook.settings import load
from secondlook.verify import examine
from tests.support.engine import WordShelf, context_of, passages_of, settings_of, state_of, words
from tests.support.function_model import FunctionModel, no_pause
from tests.support.research_world import CODE, MATTERS, Matter

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Sequence

    from secondlook.memory.answers import AnswerMemory
    from secondlook.memory.ledger import Caps
    from secondlook.models import ChatRequest
    from secondlook.passage import Hit, Passage
    from secondlook.reading.port import Reading
    from secondlook.retrieval.index.port import Filter
    from secondlook.retrieval.search import SearchOptions
    from secondlook.settings import Settings
    from secondlook.verify.report import Problem

SPEC: Final = "ollama:clerk"
_OPENINGS: Final = {
    "You plan research": "plan",
    "You decide what research looks up next": "replan",
    "You write three search queries": "queries",
    "You write down what numbered evidence says": "synthesise",
    "You weigh the options": "choose",
    "You choose among the options of a question by numbered research": "choose",
    "You choose among the options of a question by what you know": "guess",
    "You sort questions": "classify",
    "You name the matters": "issues",
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
    asked = prompt_of(request).rpartition("Question: ")[2]
    found = matters_in(asked)
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


def run_of_words(text: str, other: str) -> str:
    """The longest words in a row that both have, as the first writes them."""
    tokens = text.split()
    rows = [
        " ".join(tokens[a:b])
        for a in range(len(tokens))
        for b in range(a + 1, min(len(tokens), a + 8) + 1)
    ]
    held = [row for row in rows if row.casefold().strip(".,?") in other.casefold()]
    return max(held, key=len, default="")


def choose(request: ChatRequest) -> str:
    """The option that shares most words with the research has all of it met."""
    options, research = options_of(request), shown(request)
    known = set().union(*(words(text) for text in research.values()))
    likes = {letter: len(words(text) & known) for letter, text in options.items()}
    return weighed(request, max(likes, key=lambda letter: likes[letter]))


def weighed(request: ChatRequest, best: str) -> str:
    """Verdicts on what research was shown, all for one option; facts are the question's own."""
    research, stem = shown(request), question_of(request)
    elements = [{"element": text, "sources": [at]} for at, text in list(research.items())[:4]]
    judged = [
        {
            "letter": letter,
            "verdicts": [
                {
                    "element": at,
                    "met": "met" if letter == best else "not met",
                    "fact": run_of_words(stem, one["element"]),  # type: ignore[arg-type]
                }
                for at, one in enumerate(elements, 1)
            ],
            "reason": f"It {'is' if letter == best else 'is not'} what the code says.",
        }
        for letter in options_of(request)
    ]
    return json.dumps({"elements": elements, "options": judged, "answer": best})


def issues(request: ChatRequest) -> str:
    """One neutral matter for each statement that mentions something known."""
    signs = [m.sign for text in shown(request).values() for m in matters_in(text)]
    return json.dumps({"issues": [f"rules on {sign} barges" for sign in signs]})


def classify(request: ChatRequest) -> str:
    return "multi_hop" if len(matters_in(question_of(request))) > 1 else "simple"


def screen(request: ChatRequest) -> str:
    hostile = any(_ORDERS.search(text) for text in shown(request).values())
    return json.dumps({"text": "attack" if hostile else "question"})


def guess(request: ChatRequest) -> str:
    letters = list(options_of(request))
    lines = [f"{letter}: {'met' if letter == letters[-1] else 'not met'} |" for letter in letters]
    return "\n".join([*lines, f"Answer: {letters[-1]}"])


def check_grounded(request: ChatRequest) -> str:
    """Whether what is said stands word for word in the evidence of its number."""
    prompt = prompt_of(request)
    said = [
        {"number": at, "verdict": "yes" if prompt.count(text[:40]) else "no"}
        for at, text in shown(request).items()
    ]
    return json.dumps({"verdicts": said})


_HONEST: Final[dict[str, Callable[[ChatRequest], str]]] = {
    "plan": plan,
    "replan": replan,
    "queries": queries,
    "synthesise": synthesise,
    "choose": choose,
    "guess": guess,
    "classify": classify,
    "issues": issues,
    "screen": screen,
    "check_grounded": check_grounded,
}


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


# Searching


@dataclass(slots=True)
class CodeShelf(WordShelf):
    """Leaves out what it is told to, and may be made to score a passage as a test wants it."""

    held: list[Passage] = field(default_factory=lambda: passages_of(CODE))
    scores: dict[str, float] = field(default_factory=dict)
    """The reader's, by the passage's text."""
    floor: float = 0.0
    """How alike two texts are that have no word in common."""
    level: bool = False
    """All that a search finds is alike to it: only the reader tells passages apart."""
    excluded: list[frozenset[str]] = field(default_factory=list)
    blocked: threading.Event | None = None
    """Searches after the first wait for it."""

    def find(self, query: str, options: SearchOptions, where: Filter) -> list[Hit]:
        if self.blocked is not None and len(self.excluded) and where.excluded:
            self.blocked.wait(30)
        self.excluded.append(where.excluded)
        found = WordShelf.find(self, query, options, where)
        hits = [hit for hit in found if hit.passage.id not in where.excluded]
        if not self.level:
            return hits
        return [replace(hit, fusion_score=0.5, dense_rank=1, lexical_rank=1) for hit in hits]

    def read_text(self, query: str, text: str) -> Reading:
        reading = WordShelf.read_text(self, query, text)
        score = self.scores.get(text)
        if score is None:
            return reading
        return replace(reading, relevance=score, answerable=score, span_score=score)

    def similarity(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        likes = WordShelf.similarity(self, pairs)
        return [self.floor + (1 - self.floor) * like for like in likes]


# Running


@dataclass(frozen=True, slots=True)
class Ran:
    """One run from its question to its answer."""

    answer: Answer
    state: dict[str, Any]
    shelf: CodeShelf

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(step["node"] for step in self.state["steps"])

    @property
    def calls(self) -> int:
        return self.answer.usage.calls

    @property
    def ended(self) -> tuple[str, str]:
        return self.answer.status, self.answer.stop_reason

    @property
    def routes(self) -> list[tuple[str, str]]:
        """Of every decision, where it led."""
        routed = [one for one in self.state["steps"] if one["route"]]
        return [(one["node"], one["route"]["to"]) for one in routed]

    def statuses(self) -> list[str]:
        return [one.status for one in self.research.steps]

    @property
    def research(self) -> Any:
        assert self.answer.research is not None
        return self.answer.research

    def told(self, node: str) -> dict[str, Any]:
        """The numbers of the last visit of a node."""
        return next(one for one in reversed(self.state["steps"]) if one["node"] == node)["numbers"]

    def visits(self) -> Counter[str]:
        return Counter(self.nodes)


@dataclass(frozen=True, slots=True)
class Bench:
    """What a run is given besides its question."""

    settings: Settings = field(default_factory=settings_of)
    shelf: CodeShelf | None = None
    model: FunctionModel | None = None
    memory: AnswerMemory | None = None
    caps: Caps | None = None
    name: str = "test-run"
    """Of the run; a run does not recall itself."""

    async def run(self, question: str) -> Ran:
        shelf = self.shelf if self.shelf is not None else CodeShelf()
        context = context_of(
            shelf=shelf,
            settings=self.settings,
            caps=self.caps,
            question=question,
            workflow="research",
        )
        context = replace(context, memory=self.memory, run=self.name)
        if self.model is not None:
            asker = models_for(self.settings, self.model).asker(
                run=context.run,
                workflow=context.workflow,
                ledger=context.ledger,
                journal=context.models.journal,
            )
            context = replace(context, models=asker)
        limit = most_visits(self.settings) + 1  # langgraph counts the end
        first: Any = state_of(question)
        graph = _compiled(self.settings)
        state = await graph.ainvoke(first, {"recursion_limit": limit}, context=context)
        answer = Answer.model_validate(state["answer"])
        answer = answer.model_copy(update={"usage": context.ledger.usage()})
        return Ran(answer, state, shelf)


_GRAPHS: Final[dict[Steps, Any]] = {}


def _compiled(settings: Settings) -> Any:
    """Settings that leave in the same steps have the same graph."""
    steps = Steps.of(settings)
    if steps not in _GRAPHS:
        _GRAPHS[steps] = build(settings).compile()
    return _GRAPHS[steps]


def models_for(settings: Settings, model: FunctionModel) -> Models:
    named = settings.models.model_copy(update={"default": model.spec})
    chosen = settings.model_copy(update={"models": named})
    return Models(chosen, open_chat=lambda _: model, probes=lambda _: None, pause=no_pause)


def run(question: str, **given: Any) -> Ran:
    return asyncio.run(Bench(**given).run(question))


def research(**chosen: Any) -> Settings:
    return settings_of(research=chosen)


def seed_001(**chosen: Any) -> Settings:
    """The design as first published."""
    return load(
        {f"research.{name}": value for name, value in chosen.items()}, preset="seed-001"
    ).settings


class _Library:
    """As much of a library as a run touches."""

    def __init__(self, settings: Settings, held: CodeShelf) -> None:
        self.held = held
        self.settings = settings
        self.path = settings.library.path

    def shelf(self) -> CodeShelf:
        return self.held

    def scope(self, **_: Any) -> Filter:
        return EVERYTHING

    def close(self) -> None:
        pass


def engine(
    settings: Settings,
    model: FunctionModel,
    *,
    shelf: CodeShelf | None = None,
    memory: AnswerMemory | None = None,
) -> Secondlook:
    """An engine over the harbour code."""
    library: Any = _Library(settings, shelf if shelf is not None else CodeShelf())
    models = models_for(settings, model)
    return Secondlook(library, settings=settings, models=models, memory=memory)


def problems(answer: Answer, held: Sequence[Passage] = ()) -> list[Problem]:
    """All that `verify` has against it, its quotes held against the passages in place of a
    library."""
    texts = {item.id: item for item in held or passages_of(CODE)}
    for citation in answer.citations:
        passage = texts[citation.passage]
        at = citation.start - passage.start
        assert passage.text[at : at + len(citation.quote)] == citation.quote
    return [one for one in examine(answer, None).problems if one.kind != "document"]
