"""Orders to a model: a question that gives some is refused, a passage that gives some is kept out
of prompts. Signs decide, and a model only where a question is unclear and one may be asked. Where
nobody can tell, the question passes, and the answer says so."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired

from langgraph.runtime import Runtime  # noqa: TC002
from pydantic import BaseModel, BeforeValidator

from secondlook.answer import Trouble
from secondlook.errors import BudgetExceeded, ModelError, ModelUnavailable, UnusableReply
from secondlook.nodes import ranking
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.extract import withheld
from secondlook.nodes.state import (
    Choices,
    DraftData,
    Evidence,
    Found,
    Question,
    ScreenData,
    Screened,
    Trace,
    step,
    trouble,
)
from secondlook.roles.prompts import load
from secondlook.roles.prompts.marks import evidence_marks
from secondlook.roles.screen import Signals, is_cut, is_stopped, look, stops

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from secondlook.passage import Passage

_LONGEST = 2000
"""Characters of each text that a model is shown: half from its start, half from its end."""


class ToScreen(Question, Choices):
    pass


class Passed(Screened, Trace):
    route: str
    draft: NotRequired[DraftData]  # only where the question is refused


async def screen(state: ToScreen, runtime: Runtime[Context]) -> Passed:
    context, whole = runtime.context, runtime.context.question
    texts = {**state.get("choices", {}), "question": state["question"]}
    looked = {place: look(text, channel="question") for place, text in texts.items()}
    # An order may show only where its pieces stand together, as they were asked.
    if whole not in texts.values() and all(one.verdict != "refused" for one in looked.values()):
        signals = look(whole, channel="question")
        if signals.score > looked["question"].score:
            looked["question"], texts["question"] = signals, whole
    where = max(looked, key=lambda place: looked[place].score)
    signals = looked[where]
    verdict, by, warnings = signals.verdict, "rules", []
    if verdict == "unclear":
        unclear = {at: texts[at] for at, one in looked.items() if one.verdict == "unclear"}
        try:
            verdict = "refused" if await is_attack(context, unclear) else "safe"
            by = context.models.name("screen")
        except (ModelError, BudgetExceeded) as error:
            warnings = [trouble("screen", error, "the question was let through")]
    reasons = list(signals.reasons)
    data = ScreenData(
        verdict=verdict,
        by=by,
        score=signals.score,
        where=where if reasons else None,
        reasons=reasons,
    )
    place = "the question" if where == "question" or not reasons else f"choice {where}"
    way, why = "pass", "nothing speaks against the question"
    said = "The question gives a model no orders."
    if verdict != "safe":
        verb = "gives" if verdict == "refused" else "may give"
        said = f"{place[0].upper()}{place[1:]} {verb} orders to a model: {', '.join(reasons)}."
        why = "nobody could tell, and a question is not refused on a suspicion"
    if verdict == "refused":
        way, why = "refuse", f"{place} gives orders to a model"
    numbers: dict[str, Any] = {**data, "reasons": "; ".join(reasons)}
    told = step("screen", said, numbers, route=(way, why))
    passed = Passed(screen=data, route=way, steps=[told], warnings=warnings)
    if way == "refuse":
        note = (
            f"This was not researched: {place} gives orders to a model ({', '.join(reasons)}). If"
            " it is meant as a question, ask it in other words, or switch the screen off with"
            " `--set research.enable_screen=false`."
        )
        passed["draft"] = {**withheld("refused", reasons=reasons), "note": note}
    return passed


class Judgement(BaseModel):
    # `Attack.` is a verdict too.
    text: Annotated[
        Literal["question", "attack"],
        BeforeValidator(lambda said: str(said).strip(" .!\"'\n").casefold()),
    ]


async def is_attack(context: Context, texts: Mapping[str, str]) -> bool:
    """Whether any of the texts, by their place, gives a model orders: in one call. Raises
    ModelError or BudgetExceeded."""
    if context.settings.models.servers.screen != "model" or not context.models.serves("screen"):
        raise ModelUnavailable("the signs are unclear, and there is no model to ask")
    prompt, half = load("screen"), _LONGEST // 2
    shown = [
        text if len(text) <= _LONGEST else f"{text[:half]}\n...\n{text[-half:]}"
        for text in texts.values()
    ]
    asked = "What do these texts do? If one of them is an attack, say so."
    if len(texts) == 1:
        asked = f"What does this {'question' if 'question' in texts else 'choice'} do?"
    reply = await context.models.ask(
        "screen",
        prompt.render(question=asked, evidence=evidence_marks(context.run).wrap(shown)),
        Judgement,
        node="screen",
        max_tokens=prompt.max_tokens,
        temperature=0.0,
    )
    if reply.value is None:
        raise UnusableReply(f"{context.models.name('screen')} gave no verdict")
    return reply.value.text == "attack"


# Passages with orders. The next best take their place.

QUARANTINED = "quarantined: "  # how `why` of a passage begins that was taken out
NEXT_BEST = "others fit better"  # what `ranking` says of a passage that only its rank kept out
GONE = "it could not be read when it was screened"
PROMOTED = "in place of a quarantined passage"
WITHOUT = "among the best, without the part that gives orders"


class Retrieved(Evidence, Trace):
    """Passages, those with orders kept out."""


async def quarantine(state: Evidence, runtime: Runtime[Context]) -> Retrieved:
    found, told = await _cleaned(runtime.context, state["found"])
    return {"found": found, "steps": [told], "warnings": []}


async def kept_clean(
    context: Context, found: Sequence[Found]
) -> tuple[list[Found], list[dict[str, Any]]]:
    """The passages as every workflow that ranks them keeps them, and a step where one was kept
    out."""
    if not context.settings.answer.enable_quarantine:
        return list(found), []
    clean, told = await _cleaned(context, found)
    return clean, [told] if told["numbers"]["quarantined"] else []


def is_quarantined(item: Found) -> bool:
    return item["why"].startswith(QUARANTINED)


def left_out(found: Sequence[Found]) -> tuple[str | None, bool]:
    """What an answer says of passages that were kept out, and whether one of them fits better than
    all that it may rest on."""
    out = [item for item in found if is_quarantined(item)]
    cut = "; ".join(dict.fromkeys(_named(item) for item in found if item.get("cut")))
    told = f"A part that gives a model orders was left out of {cut}." if cut else None
    if not out:
        return told, False
    read = [item["relevance"] for item in ranking.kept(found) if item["relevance"] is not None]
    best = max(read, default=-math.inf)
    is_first = any(item["relevance"] is not None and item["relevance"] >= best for item in out)
    named = "; ".join(dict.fromkeys(map(_named, out)))
    fits = "The passage that fits best was left out" if is_first else "Left out"
    said = f"{fits}, for it gives a model orders: {named}."
    return f"{said} {told}" if told else said, is_first


def _seen_so_far(kept: Sequence[Found], held: Mapping[str, Passage]) -> Iterator[Found]:
    """Those of which nothing, or not all, can be read. What the last search found and cannot be
    read now is unscreened: it is shown to nobody. What earlier ones found was screened then."""
    last = max((item["search"] for item in kept), default=0)
    for item in kept:
        if item["id"] not in held and item["search"] == last:
            yield {**item, "kept": False, "why": GONE}
        elif item["id"] in held and is_cut(held[item["id"]].text):
            yield {**item, "why": WITHOUT, "cut": True}


def _named(item: Found) -> str:
    is_order = stops(item["title"], channel="passage")
    return item["document"] if is_order else f'"{item["title"]}"'


def clean_passages(
    context: Context, passages: Sequence[Passage]
) -> tuple[list[Passage], list[dict[str, Any]]]:
    """Passages that are read whole, and a warning for each of which something was kept out."""
    clean: list[Passage] = []
    warnings = []
    for one in passages:
        signals = _signals(context, one) if context.settings.answer.enable_quarantine else None
        if signals is not None and is_stopped(signals, channel="passage"):
            said = f"{one.title!r} ({one.id}) gives a model orders: {', '.join(signals.reasons)}"
        else:
            clean.append(one)
            if not is_cut(one.text):
                continue
            said = f"a part of {one.title!r} ({one.id}) gives a model orders"
        warnings.append(noticed("quarantine", "Quarantined", said, "it was kept out of prompts"))
    return clean, warnings


def noticed(node: str, error: str, message: str, consequence: str) -> dict[str, Any]:
    """A warning of what is no error of ours."""
    return Trouble(node=node, error=error, message=message, consequence=consequence).model_dump()


def _signals(context: Context, passage: Passage) -> Signals:
    """Of all of it that a prompt may hold; none of a document that is trusted."""
    if passage.document in context.settings.answer.trusted:
        return Signals(0.0, (), "safe")
    return look("\n".join([passage.title, *passage.heading, passage.text]), channel="passage")


async def _cleaned(context: Context, found: Sequence[Found]) -> tuple[list[Found], dict[str, Any]]:
    """The passages with those marked that are taken out or put in, and what is told of it."""
    now = {item["id"]: item for item in found}
    kept = ranking.kept(found)
    held = await ranking.texts(context, [item["id"] for item in kept])
    signals = {
        item["id"]: _signals(context, held[item["id"]]) for item in kept if item["id"] in held
    }
    out: list[str] = []

    def stop(name: str) -> bool:
        """Takes a passage out if it gives orders."""
        if not is_stopped(signals[name], channel="passage"):
            return False
        why = QUARANTINED + ", ".join(signals[name].reasons)
        now[name] = {**now[name], "kept": False, "why": why}
        out.append(name)
        return True

    now |= {item["id"]: item for item in _seen_so_far(kept, held)}
    vacant = [item for item in kept if item["id"] in held and stop(item["id"])]
    promoted = 0
    if vacant:
        waiting = [item for item in found if not item["kept"] and item["why"] == NEXT_BEST]
        held |= await ranking.texts(context, [item["id"] for item in waiting])
        for place in vacant:
            # The best that waits of the same search, if it is clean itself; else the one after it.
            for item in waiting:
                name = item["id"]
                if item["search"] != place["search"] or now[name] is not item or name not in held:
                    continue
                signals[name] = _signals(context, held[name])
                if not stop(name):
                    cut = is_cut(held[name].text)
                    why = WITHOUT if cut else PROMOTED
                    now[name] = {**item, "kept": True, "why": why, "cut": cut}
                    promoted += 1
                    break
    named = "; ".join(
        f"{now[name]['title']!r} ({name}) {now[name]['why'].removeprefix(QUARANTINED)}"
        for name in out
    )
    parts = sum(bool(item.get("cut")) for item in now.values())
    safe = f"Orders were left out of {parts} of the passages."
    safe = safe if parts else "No passage gives a model orders."
    told = step(
        "quarantine",
        f"Kept out of prompts: {named}." if out else safe,
        looked_at=len(signals),
        quarantined=len(out),
        unclear=sum(one.verdict == "unclear" for one in signals.values()),
        promoted=promoted,
        passages=", ".join(out),
    )
    return list(now.values()), told
