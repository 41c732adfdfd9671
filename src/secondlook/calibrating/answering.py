"""What becomes of a question: searched, read and answered as the workflow `linear` does it without
a language model, with the numbers that the probability is made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from langgraph.runtime import Runtime

from secondlook.context import Context
from secondlook.errors import ModelError
from secondlook.evaluation.metrics.answers import RIGHT_F1, f1
from secondlook.library.shelf import search_options
from secondlook.nodes import ranking
from secondlook.nodes.places import whole_numbers
from secondlook.nodes.rerank import rerank
from secondlook.nodes.retrieve import found_by
from secondlook.reading.calibration import Outcome, answer_features
from secondlook.retrieval.index.port import Filter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.calibrating.asked import Asked, Place
    from secondlook.library import Library
    from secondlook.memory import Ledger
    from secondlook.models import Asker
    from secondlook.passage import Hit
    from secondlook.reading.calibration import Calibration
    from secondlook.reading.support import Support
    from secondlook.retrieval.web import WebPassage
    from secondlook.state import Asked as Searched
    from secondlook.state import Found

_MOST_SEARCHES = 50
"""Each leaves out what the one before brought in vain; a document of thousands of passages, all
of them nearer than any other, is not worth more."""


@dataclass(frozen=True, slots=True)
class Answered:
    asked: Asked
    outcome: Outcome
    before: float | None
    """The probability by the calibration that is in use; None without one."""


class _NoPages:
    """Nothing is read from the web here."""

    def put(self, passages: Sequence[WebPassage]) -> None: ...

    def get(self, ids: Sequence[str]) -> dict[str, WebPassage]:  # noqa: ARG002
        return {}


class Answering:
    """Answers questions over one library with the calibration that is given."""

    def __init__(self, library: Library, calibration: Calibration) -> None:
        self.calibration = calibration
        settings = library.settings
        self._settings = settings.model_copy(
            update={"search": settings.search.model_copy(update={"rerank": True})}
        )
        self._context = Context(
            run="calibrate",
            created="",
            workflow="linear",
            question="",
            settings=self._settings,
            shelf=library.shelf(),
            # Searching and reading ask for none of these.
            models=cast("Asker", None),
            ledger=cast("Ledger", None),
            support=cast("Support", None),
            pages=_NoPages(),
        )

    async def answer(self, asked: Asked) -> Answered | None:
        """None where nothing was found to answer with, or where right and wrong cannot be told:
        the passage that a question was made from is left out, and the answer is there again."""
        found = await self._found(asked)
        read = [item for item in ranking.kept(found) if ranking.candidate(item) is not None]
        candidates = ranking.candidates(read)
        chosen = self.calibration.best_answer(candidates)
        if chosen is None:
            return None
        said = await self._said(read[chosen])
        near = f1(said, asked.answers) >= RIGHT_F1
        if near and asked.kind == "left out":
            return None
        outcome = Outcome(answer_features(candidates, chosen), right=near and asked.answerable)
        before = self.calibration.answer_probability(candidates, chosen)
        return Answered(asked, outcome, before)

    async def _found(self, asked: Asked) -> list[Found]:
        hits = self._hits(asked.question, asked.left_out)
        state: Searched = {
            "question": asked.question,
            "queries": [asked.question],
            "scope": {"documents": None, "labels": []},
            "found": [found_by(hit) for hit in hits],
        }
        update = await rerank(state, Runtime(context=self._context))
        for warning in update["warnings"]:
            raise ModelError(
                f"the passages could not be read: {warning['message']}",
                hint="secondlook doctor says what is installed and missing",
            )
        return update["found"]

    def _hits(self, question: str, left_out: Sequence[Place]) -> list[Hit]:
        """What both searches find beside what is left out."""
        options = search_options(self._settings.search, k=self._settings.answer.k)
        excluded: set[str] = set()
        for _ in range(_MOST_SEARCHES):
            hits = self._context.shelf.find(question, options, Filter(excluded=frozenset(excluded)))
            unwanted = {hit.passage.id for hit in hits if _is_out(hit, left_out)}
            if not unwanted:
                return hits
            excluded |= unwanted
        return []

    async def _said(self, item: Found) -> str:
        held = await ranking.texts(self._context, [item["id"]])
        text = held[item["id"]].text
        start, end = whole_numbers(text, item["span_start"] or 0, item["span_end"] or 0)
        return " ".join(text[start:end].split())


def _is_out(hit: Hit, left_out: Sequence[Place]) -> bool:
    passage = hit.passage
    return any(place.holds(passage.document, passage.start, passage.end) for place in left_out)
