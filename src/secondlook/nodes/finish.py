"""Puts the answer together. Whatever happened before, there is one afterwards."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook import __version__
from secondlook.answer import (
    Answer,
    Check,
    Citation,
    Claim,
    Confidence,
    SeenPassage,
    Status,
    StopReason,
)
from secondlook.context import Context  # noqa: TC001
from secondlook.nodes import ranking
from secondlook.state import Finishing, Found, Outcome, Sentence, Trace, step

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.passage import Passage
    from secondlook.state import Cited, DraftData

FAILED: frozenset[StopReason] = frozenset(
    {"budget", "deadline", "cancelled", "model_unavailable", "error"}
)
_NEAREST = 3


class Finished(Outcome, Trace):
    pass


async def finish(state: Finishing, runtime: Runtime[Context]) -> Finished:
    context = runtime.context
    found, draft = state["found"], state["draft"]
    cited = {item["passage"] for sentence in draft["sentences"] for item in sentence["cited"]}
    held = await ranking.texts(context, sorted(cited))
    documents = {passage.document for passage in held.values()}
    paths = await asyncio.to_thread(context.shelf.paths, documents)
    citations, claims = _claims(draft["sentences"], held, by_id(found), paths)
    answer = Answer(
        run=context.run,
        question=state["question"],
        asked=state["question"],
        workflow=context.workflow,
        method=draft["method"],
        model=draft["model"],
        text=_text(claims, draft, found),
        short=draft["short"],
        status=_status(draft, claims),
        stop_reason=draft["stop"],
        claims=tuple(claims),
        citations=tuple(citations),
        confidence=Confidence(value=draft["confidence"], reasons=tuple(draft["reasons"])),
        grounded=_grounded(claims),
        queries=tuple(state["queries"]),
        passages=tuple(seen(item, context) for item in found),
        attempts=len(state["queries"]),
        web_used=any(item["origin"] == "web" for item in ranking.kept(found)),
        warnings=tuple(state["warnings"]),  # type: ignore[arg-type]  # pydantic reads them
        created=context.created,
        version=__version__,
    )
    told = step("finish", _said(answer), claims=len(claims), citations=len(citations))
    return {"answer": answer.model_dump(mode="json"), "steps": [told], "warnings": []}


def by_id(found: Sequence[Found]) -> dict[str, Found]:
    return {item["id"]: item for item in found}


def seen(item: Found, context: Context) -> SeenPassage:
    page = context.pages.get([item["id"]]).get(item["id"]) if item["origin"] == "web" else None
    return SeenPassage(
        id=item["id"],
        document=item["document"],
        title=item["title"],
        page=item["page"],
        start=item["start"],
        end=item["end"],
        score=item["score"],
        fusion_score=item["fusion_score"],
        dense_rank=item["dense_rank"],
        dense_score=item["dense_score"],
        lexical_rank=item["lexical_rank"],
        lexical_score=item["lexical_score"],
        rerank_score=item["relevance"],
        kept=item["kept"],
        why=item["why"],
        origin=item["origin"],
        url=item["url"],
        text=page.text if page else None,
    )


def _claims(
    sentences: Sequence[Sentence],
    held: Mapping[str, Passage],
    found: Mapping[str, Found],
    paths: Mapping[str, tuple[str, ...]],
) -> tuple[list[Citation], list[Claim]]:
    """Each sentence with numbered citations; the same place gets the same number."""
    citations: dict[tuple[str, int, int], Citation] = {}
    claims = []
    for sentence in sentences:
        numbers = []
        for place in sentence["cited"]:
            passage = held.get(place["passage"])
            if passage is None:
                continue
            key = (place["passage"], place["start"], place["end"])
            if key not in citations:
                citations[key] = _citation(
                    len(citations) + 1, place, passage, found.get(passage.id), paths
                )
            numbers.append(citations[key].number)
        claims.append(
            Claim(
                text=sentence["text"],
                citations=tuple(dict.fromkeys(numbers)),
                support=sentence["support"],
                supported=sentence["supported"],
            )
        )
    return list(citations.values()), claims


def _citation(
    number: int,
    place: Cited,
    passage: Passage,
    page: int | None,
    found: Found | None,
    paths: Mapping[str, tuple[str, ...]],
) -> Citation:
    return Citation(
        number=number,
        passage=passage.id,
        document=passage.document,
        sha256=passage.sha256,
        title=passage.title,
        page=page,
        start=place["start"],
        end=place["end"],
        quote=passage.text[place["start"] - passage.start : place["end"] - passage.start],
        path=next(iter(paths.get(passage.document, ())), None),
        origin=found["origin"] if found else "library",
        url=found["url"] if found else None,
        fetched=found["fetched"] if found else None,
    )


def _text(claims: Sequence[Claim], draft: DraftData, found: Sequence[Found]) -> str:
    if not claims:
        return _abstention(draft, found)
    said = " ".join(_marked(claim) for claim in claims)
    return f"{said}\n\n{draft['note']}" if draft["note"] else said


def _marked(claim: Claim) -> str:
    marks = "".join(f"[{number}]" for number in claim.citations)
    doubt = " (not supported by the evidence)" if claim.supported is False else ""
    return f"{claim.text} {marks}{doubt}" if marks else f"{claim.text}{doubt}"


def _abstention(draft: DraftData, found: Sequence[Found]) -> str:
    documents = list(dict.fromkeys(item["title"] for item in found))
    if not found:
        return "I don't know: the search found no passage for this question."
    nearest = ", ".join(repr(title) for title in documents[:_NEAREST])
    why = {
        "low_confidence": "no passage answers this well enough to say so",
        "no_evidence": "the passages do not hold the answer",
        "cannot_proceed": "the passages could not be read",
        "model_unavailable": "the model did not answer",
        "budget": "the budget ran out",
        "deadline": "the time ran out",
    }.get(draft["stop"], "something went wrong")
    return (
        f"I don't know: {why}. Searched {len(found)} passages of {len(documents)} documents; "
        f"the nearest are in {nearest}."
    )


def _status(draft: DraftData, claims: Sequence[Claim]) -> Status:
    if claims:
        whole = draft["note"] is None and all(claim.supported is not False for claim in claims)
        return "answered" if whole and draft["stop"] == "answered" else "partial"
    return "failed" if draft["stop"] in FAILED else "abstained"


def _grounded(claims: Sequence[Claim]) -> Check:
    supports = [claim.support for claim in claims if claim.support is not None]
    if not supports or any(claim.supported is None for claim in claims):
        return Check()
    held = all(claim.supported for claim in claims)
    return Check(value="yes" if held else "no", score=round(sum(supports) / len(supports), 4))


def _said(answer: Answer) -> str:
    said: dict[Status, str] = {
        "answered": "The answer stands on its evidence.",
        "partial": "Part of the answer stands on its evidence.",
        "abstained": "Withheld: the evidence is not there.",
        "refused": "Refused.",
        "failed": "No answer: the run could not be completed.",
    }
    return said[answer.status]
