"""What runs of `corrective` cost: scripted runs, from the best to the worst, with each grader."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, get_args

from secondlook.graphs.corrective import most_asked, most_visits
from secondlook.nodes.split import MAX_PARTS
from secondlook.settings.workflows import Servers
from tests.support.checking import SevereShelf
from tests.support.corrective import Bench, Scripted, corrective, fit_probe, grades, sentence_with
from tests.support.engine import passages_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from secondlook.models.chat import ChatRequest
    from secondlook.passage import Hit
    from secondlook.reading.port import Reading
    from tests.support.corrective import Ran

HEAD: Final = "| case | grader | node visits | retrievals | LLM calls | ends |"
GRADERS: Final[tuple[str, ...]] = get_args(Servers.model_fields["grade"].annotation)
QUESTION = "how deep is the deepest berth 4"
ANSWER = "Berth 4 remains the deepest berth, at 7.8 metres. It has lost 60 centimetres."
BESIDE_THE_POINT = "It has lost 60 centimetres"
INVENTED = "Napoleon dredged it to 99 metres in 1804 [1]."
WAYS = {
    "soundings": "In the soundings berth 4 is the deepest berth, however deep the others are.",
    "pilots": "The pilots call berth 4 the deepest berth and say how deep it is each spring.",
    "charts": "In the charts berth 4 is the deepest berth, and how deep it is stands in red.",
}
"""What each rewrite finds and no other query does, by the word that it adds."""
_UNSURE = ("minutes", "The berth of the old ferry.")
"""The reader cannot tell whether it is about the question."""
_GREY = 1.0
_OTHERS = (
    _UNSURE,
    *((f"note{at:02}", f"Sheet {at} tells of lamps, ropes and tar.") for at in range(12)),
)


class HidingShelf(SevereShelf):
    """Finds what is hidden only for queries that have its word, and is unsure of one passage."""

    hidden: dict[str, str]

    def find(self, query: str, options: Any, where: Any) -> list[Hit]:
        asked = query.casefold()
        hits = SevereShelf.find(self, query, options, where)
        return [
            hit
            for hit in hits
            if self.hidden.get(hit.passage.text) is None or self.hidden[hit.passage.text] in asked
        ]

    def read_text(self, query: str, text: str) -> Reading:
        reading = SevereShelf.read_text(self, query, text)
        return replace(reading, relevance=_GREY) if text == _UNSURE[1] else reading


def shelf(hidden: dict[str, str]) -> HidingShelf:
    """The passage that answers, those that a rewrite finds, and a dozen that are about nothing."""
    pieces = [("survey", ANSWER), *WAYS.items(), *_OTHERS]
    made = HidingShelf(passages_of(pieces))
    made.hidden = hidden
    return made


_ALL_HIDDEN = {ANSWER: "soundings", **{text: word for word, text in WAYS.items()}}
_WAYS_HIDDEN = {text: word for word, text in WAYS.items()}


def _graded(request: ChatRequest) -> str:
    return grades(request, lambda text: "answers" if "erth 4" in text else "no")


def _says(words: str) -> Callable[[ChatRequest], str]:
    return lambda request: sentence_with(request, words)


@dataclass(frozen=True, slots=True)
class Scenario:
    name: str
    answers: tuple[Any, ...]
    """What the model writes, one after the other and the last for ever."""
    hidden: tuple[str, ...] = tuple(WAYS.values())
    """Texts that only a rewrite finds."""

    def model(self) -> Scripted:
        return Scripted(
            answer=list(self.answers),
            rewrite=[f"how deep is the deepest berth 4 {word}" for word in WAYS],
            grade=_graded,
        )

    def shelf(self) -> HidingShelf:
        ways = {**_WAYS_HIDDEN, ANSWER: "soundings"}
        return shelf({text: ways[text] for text in self.hidden})


SCENARIOS = (
    Scenario("best", (_says("7.8 metres"),)),
    Scenario("one rewrite", (_says("7.8 metres"),), tuple(_ALL_HIDDEN)),
    Scenario("one regeneration", (INVENTED, _says("7.8 metres"))),
    Scenario("worst", (INVENTED, INVENTED, _says(BESIDE_THE_POINT))),
)


@dataclass(frozen=True, slots=True)
class Row:
    case: str
    grader: str
    visits: int
    retrievals: int
    calls: int
    ended: str

    def __str__(self) -> str:
        cells = (self.case, f"`{self.grader}`", self.visits, self.retrievals, self.calls)
        return f"| {' | '.join(map(str, cells))} | {self.ended} |"


def ran(scenario: Scenario, grader: str) -> Ran:
    bench = Bench(
        settings=corrective(grader=grader),
        shelf=scenario.shelf(),
        model=scenario.model(),
        probe=fit_probe(),
    )
    return asyncio.run(bench.run(QUESTION))


def row(scenario: Scenario, grader: str) -> Row:
    made = ran(scenario, grader)
    visits = made.visits()
    return Row(
        case=scenario.name,
        grader=grader,
        visits=visits.total(),
        retrievals=visits["retrieve"] + visits["search_again"],
        calls=made.calls,
        ended=f"{made.answer.status}, `{made.answer.stop_reason}`",
    )


def bound(grader: str) -> Row:
    """What no run exceeds, whatever happens in it."""
    settings = corrective(grader=grader)
    searches = 2 + settings.corrective.max_rewrites + MAX_PARTS
    return Row("bound", grader, most_visits(settings), searches, most_asked(settings), "")


def table() -> str:
    """As `docs/corrective.md` shows it."""
    rows = [
        *(row(scenario, grader) for scenario in SCENARIOS for grader in GRADERS),
        *(bound(grader) for grader in GRADERS),
    ]
    return "\n".join([HEAD, "|---|---|---:|---:|---:|---|", *map(str, rows)])
