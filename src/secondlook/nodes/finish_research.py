"""Puts the answer of a research together: its findings under the steps that made them, the choice,
and a report of how it went."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langgraph.runtime import Runtime  # noqa: TC002

from secondlook.answer import Answer, Confidence, Recalled, Research, ResearchStep, Screening
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.finish import Finished, assembled, finished, marked, note_of
from secondlook.nodes.limits import lead
from secondlook.nodes.memory import Remembered
from secondlook.nodes.options import choice_of, choice_text, step_heading
from secondlook.nodes.research import standing
from secondlook.nodes.screen import QUARANTINED, left_out
from secondlook.nodes.state import Choices, Chosen, Cycles, Finishing, Kind, Plan, Recall, Screened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.answer import Choice, Claim, Status
    from secondlook.nodes.state import StepData


class Reported(Finishing, Plan, Kind, Cycles, Choices, Chosen, Screened, Recall, Remembered):
    """All that goes into the answer of a research."""


async def finish_research(state: Reported, runtime: Runtime[Context]) -> Finished:
    return finished(await researched(state, runtime.context))


async def researched(state: Reported, context: Context) -> Answer:
    """The answer that a research amounts to, also where it was cut short."""
    plain = await assembled(state, context)
    plan = state.get("plan", [])
    # A short form goes with the sentence that it was read out of, where that was cut.
    wanted = " ".join((plain.short or "").split()).casefold()
    places = [plain.text, *(citation.quote for citation in plain.citations)]
    there = any(wanted in " ".join(place.split()).casefold() for place in places)
    owners = _owners(plan, plain.claims)
    steps = tuple(_step(one, owners) for one in plan)
    data = state.get("choice")
    choice = None
    # Not where what it rested on is gone, nor where a guess would stand beside findings.
    if data and not (data["letter"] and data["grounded"] != bool(plain.claims)):
        choice = choice_of(data, plain.citations)
    made = plain.model_copy(
        update={
            "short": plain.short if wanted and there else None,
            "queries": tuple(dict.fromkeys(query for one in plan for query in one["queries"])),
            "attempts": max(1, len(plan)),
            "choice": choice,
            "text": _text(plain, steps, choice, state),
            **(_with_choice(plain, choice) if choice else {}),
        }
    )
    return made.model_copy(update={"research": _report(state, steps, made.status)})


def _with_choice(plain: Answer, choice: Choice) -> dict[str, object]:
    """What a choice changes of an answer: a letter is the shortest one there is."""
    if choice.letter is None:
        status: Status = "partial" if plain.status == "answered" else plain.status
        return {"status": status, "short": None}
    why = (choice.why,) if choice.why else ()
    if not choice.grounded:  # a guess has no source, and so no confidence
        return {"short": choice.letter, "confidence": Confidence(reasons=why)}
    reasons = (*why, *plain.confidence.reasons)
    sure = Confidence(value=choice.confidence, label="provisional", reasons=reasons)
    return {"short": choice.letter, "confidence": sure}


def _text(
    plain: Answer, steps: Sequence[ResearchStep], choice: Choice | None, state: Reported
) -> str:
    """Claims, under their steps where there are several; the choice, and what else is to say."""
    claims, chosen = plain.claims, choice_text(choice) if choice else ""
    note = note_of(state["draft"], claims) or ""
    telling = [one for one in steps if one.claims]
    if not claims:
        parts = [plain.text, chosen]
    elif len(telling) < 2:  # noqa: PLR2004
        first = lead(plain.tier, plain.short, plain.method)
        parts = [first + " ".join(map(marked, claims)), chosen, note]
    else:
        under = {number for one in telling for number in one.claims}
        parts = [" ".join(marked(one) for at, one in enumerate(claims, 1) if at not in under)]
        for one in telling:
            said = " ".join(marked(claims[number - 1]) for number in one.claims)
            parts.append(f"{step_heading(one.id, one.phase)}\n\n{said}")
        parts += [chosen, note]
    if claims and choice and choice.letter is None:
        why = choice.why or "too little is known"
        parts.append(f"(None of the choices could be chosen: {why}.)")
    if claims:
        parts.append(left_out(state["found"])[0] or "")
    return "\n\n".join(part for part in parts if part)


def _owners(plan: Sequence[StepData], claims: Sequence[Claim]) -> list[int | None]:
    """The step that found each claim. What leads what the steps found was read out of all."""
    found: dict[str, int] = {}
    for one in standing(plan):
        for sentence in one["draft"]["sentences"] if one["draft"] else ():
            found.setdefault(sentence["text"], one["id"])
    owners = [found.get(claim.text) for claim in claims]
    first, rest = owners[:1], [owner for owner in owners[1:] if owner is not None]
    leads = bool(first and rest) and first[0] is not None and first[0] > rest[0]
    return [None, *owners[1:]] if leads else owners


def _step(one: StepData, owners: Sequence[int | None]) -> ResearchStep:
    draft = one["draft"]
    names = ("id", "phase", "question", "status", "attempt", "retry_of", "confidence", "queries")
    told: dict[str, Any] = {name: value for name, value in one.items() if name in names}
    told |= {
        "model": draft["model"] if draft else None,
        "claims": [at for at, owner in enumerate(owners, 1) if owner == one["id"]],
        "cut": len(one["complaints"]),
        "evidence": [
            {
                **{name: value for name, value in record.items() if name != "answerable"},
                "answer_score": record["answerable"],
            }
            for record in one["evidence"]
        ],
    }
    return ResearchStep.model_validate(told)


def _report(state: Reported, steps: Sequence[ResearchStep], status: Status) -> Research:
    screen, recalled = state.get("screen"), state.get("recalled")
    statuses = [one.status for one in steps]
    return Research(
        query_type=state.get("query_type", "multi_hop"),
        classified_by=state.get("classified_by", "nobody"),
        escalated=state.get("escalated", False),
        cycles=state.get("cycles", 0),
        completed=statuses.count("completed"),
        weak=statuses.count("weak"),
        failed=statuses.count("failed"),
        pending=statuses.count("pending"),
        steps=tuple(steps),
        screen=Screening.model_validate(screen) if screen else Screening(),
        quarantined=sum(item["why"].startswith(QUARANTINED) for item in state["found"]),
        recalled=Recalled.model_validate(recalled) if recalled else None,
        # What was kept is worth nothing where its passages were gone a moment later.
        remembered=state.get("remembered", False) and status == "answered",
        stopped=state.get("stopped", ""),
    )
