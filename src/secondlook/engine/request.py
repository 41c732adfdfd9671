"""What a question may be and take: choices, risk and budget, and the settings that follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from secondlook.errors import ModelError, SecondlookError, UsageError
from secondlook.models.budget import Ledger
from secondlook.models.prices import Caps, SetAside
from secondlook.nodes.choices import MOST_CHOICES, by_letter, in_order, parsed, rendered
from secondlook.reading.calibration import CALIBRATION_FILE, load_calibration
from secondlook.reading.risk import check_share
from secondlook.settings.sections import BudgetSettings

if TYPE_CHECKING:
    from pathlib import Path

    from secondlook.library.library import Library
    from secondlook.models.calls import Asker, Models
    from secondlook.models.chat import Role
    from secondlook.models.specs import Part
    from secondlook.roles.follow_up import StandAlone, Turn
    from secondlook.settings.sections import Settings

CHOOSING: Final = "research"
"""The workflow that chooses among given answers."""
AUTO: Final = "auto"
"""The workflow that picks another one."""


def chosen_settings(
    library: str | Path | None = None,
    *,
    model: str | None = None,
    web: bool | None = None,
    k: int | None = None,
    timeout: float | None = None,
    max_risk: float | None = None,
    settings: Settings | None = None,
) -> Settings:
    """The settings given, or those of the machine with what is given here in their place."""
    from secondlook.settings import load

    if settings is None:
        given = {
            "library.path": str(library) if library is not None else None,
            "models.default": model,
            "web.enable_web_search": web,
            "answer.k": k,
            "budget.seconds": timeout,
        }
        settings = load(given).settings
    return with_risk(settings, max_risk)


def usual_workflow(settings: Settings) -> str:
    """Where none is named. The web is no part of `linear`: who allows it means another."""
    configured = settings.answer.workflow
    return "adaptive" if settings.web.enable_web_search and configured == "linear" else configured


def with_choices(
    question: str,
    choices: Mapping[str, str] | Sequence[str] | None,
    workflow: str | None,
    settings: Settings,
) -> tuple[str, str | None]:
    """The question as it is typed with its choices, so that it is recorded and asked again with
    them, and the workflow that can choose."""
    question = _unicode(question)
    if not question.strip():
        raise UsageError("the question is empty", hint="say what you want to know")
    if choices is None:
        return question, workflow
    configured = settings.answer.workflow
    meant = workflow or (CHOOSING if configured == "linear" else configured)
    if meant not in {CHOOSING, AUTO}:
        raise UsageError(
            f"the workflow {meant!r} cannot choose among answers",
            hint=f"ask with the workflow {CHOOSING!r}, or without choices",
        )
    texts = _checked(choices)
    if parsed(question).choices:
        raise UsageError(
            "the question itself holds choices already", hint="give them there or apart, not both"
        )
    return _unicode(rendered(question.strip(), by_letter(texts))), meant


def _unicode(text: str) -> str:
    """What no encoding can write down, such as bytes that a shell passed on, cannot be recorded."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _checked(choices: Mapping[str, str] | Sequence[str]) -> list[str]:
    """The texts in order. What comes from outside may be of any type."""
    named = isinstance(choices, Mapping)
    texts = in_order(choices) if isinstance(choices, Mapping) else choices
    if texts is None:
        raise UsageError(
            f"choices are not named by letters from A on: {', '.join(map(repr, choices))}",
            hint="give a list, and the letters are set",
        )
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        kind = "a mapping of letters to texts" if named else "a list of texts"
        raise UsageError(f"choices are not {kind}: {choices!r}", hint='such as ["yes", "no"]')
    if not 1 < len(texts) <= MOST_CHOICES:
        raise UsageError(
            f"there are {len(texts)} choices", hint=f"give from 2 to {MOST_CHOICES}, or ask without"
        )
    if not all(text.strip() for text in texts):
        raise UsageError(f"a choice is empty: {choices!r}", hint="say what there is to choose")
    return list(texts)


async def made_stand_alone(asker: Asker, question: str, earlier: Sequence[Turn]) -> StandAlone:
    """The question as it reads without the turns before it. What that takes counts as the run's,
    and leaves room for the answer."""
    from secondlook.nodes.rewrite import condense

    apart = parsed(question)
    if not apart.choices:
        return await condense(asker, question, earlier)
    made = await condense(asker, apart.stem, earlier)  # choices lean on no earlier turn
    return replace(made, asked=rendered(made.asked, apart.choices))


def with_risk(settings: Settings, max_risk: float | None) -> Settings:
    """The settings, with another risk allowed if one is given."""
    if max_risk is None:
        return settings
    check_share("max_risk", max_risk)
    answer = settings.answer.model_copy(update={"max_risk": float(max_risk)})
    return settings.model_copy(update={"answer": answer})


def check_risk(library: Library, max_risk: float) -> None:
    """Whether any promise can be made: wrong answers of this reader must have been counted."""
    try:
        reader = library.shelf().reader_name
    except ModelError:  # the run tells what is wrong with it
        return
    calibration = load_calibration(reader, library.path / CALIBRATION_FILE)
    if calibration.label == "calibrated" and calibration.risk is not None:
        return
    why = (
        f"the reader {reader!r} has not been calibrated"
        if calibration.label == "uncalibrated"
        else f"nobody has counted how often the reader {reader!r} is wrong"
    )
    raise UsageError(
        f"max_risk {max_risk:g} cannot be promised: {calibration.warning or why}",
        hint="run secondlook calibrate, or ask without a limit on the risk",
    )


# What one question may take: its budget, and what of it is kept for the call that answers.

Budget = Mapping[str, float] | BudgetSettings
"""`calls`, `tokens`, `money` (US dollars) and `seconds`; what is left out is not capped."""

_FRAME_TOKENS: Final = 600
"""What a prompt tells beside its evidence and the question, marks included."""
_SHARE_OF_TIME: Final = 0.25
"""Of the time for models: what the others leave to the last call."""
_LATEST: Final = 1.0
"""Seconds before the deadline after which no model is waited for, or a fifth of a short one: what
models do not answer, the reader still can."""
_LAST_CALLS: tuple[tuple[str, Role, str], ...] = (
    ("linear", "answer", "answer"),
    ("adaptive", "answer", "answer"),
    ("corrective", "answer", "answer"),
    ("research", "answer", "synthesise"),
    ("research", "choose", "choose"),
    ("analyst", "code", "analyst_code"),
    ("summary", "summarise", "summarise_whole"),
)
"""The call that a workflow cannot answer without: workflow, role and prompt."""


def with_budget(settings: Settings, asked: Budget | None) -> Settings:
    """The settings, with the budget of one question. It may lower the caps, never raise them."""
    if asked is None:
        return settings
    try:
        given = (
            asked
            if isinstance(asked, BudgetSettings)
            else BudgetSettings.model_validate(dict(asked))
        )
    except (ValidationError, TypeError, ValueError) as error:
        raise UsageError(
            f"this is no budget: {asked!r}",
            hint="give any of calls, tokens, money and seconds, such as {'calls': 5}",
        ) from error
    own = settings.budget
    lowest = {
        name: min(filter(None, (getattr(own, name), getattr(given, name))), default=0)
        for name in BudgetSettings.model_fields
    }
    return settings.model_copy(update={"budget": BudgetSettings(**lowest)})


def ledger_for(settings: Settings, models: Models, workflow: str, question: str) -> Ledger:
    """The account of a run."""
    caps = Caps.of(settings.budget)
    caps = replace(caps, seconds=max(0.8 * caps.seconds, caps.seconds - _LATEST))
    if caps == Caps():
        return Ledger(caps)
    return Ledger(caps, set_aside=last_call(settings, models, workflow, question, caps))


def last_call(
    settings: Settings, models: Models, workflow: str, question: str, caps: Caps
) -> SetAside | None:
    """What is kept for the call that a workflow cannot answer without; None where there is none."""
    from secondlook.models.chat import approximate_tokens
    from secondlook.roles.prompts import load

    seconds = _SHARE_OF_TIME * caps.seconds
    if not (caps.tokens or caps.money):  # a call is a call, however long
        return None if caps == Caps() else SetAside(0, 0, seconds=seconds)
    sizes = []
    for name, role, prompt in _LAST_CALLS:
        part = models.cast.part(role, name)
        chosen = role != "choose" or parsed(question).choices
        if workflow in {name, AUTO} and part.spec.named and chosen:
            longest = part.options.max_tokens or load(prompt).max_tokens
            tokens_in = _shown(settings, models, part) + _FRAME_TOKENS
            sizes.append((tokens_in, longest, models.price(part.spec)))
    if not sizes:
        return None
    priced = [
        (price.worst(tokens_in=tokens_in, tokens_out=longest), price)
        for tokens_in, longest, price in sizes
        if price is not None
    ]
    return SetAside(
        max(size[0] for size in sizes) + approximate_tokens(question),
        max(size[1] for size in sizes),
        price=max(priced, key=lambda one: one[0])[1] if priced else None,
        seconds=seconds,
    )


def _shown(settings: Settings, models: Models, part: Part) -> int:
    """Tokens of evidence, notes or tables that its prompt holds."""
    from secondlook.nodes.desk import PROFILE_TOKENS
    from secondlook.nodes.evidence import PASSAGES_TOKENS, SENTENCES_TOKENS
    from secondlook.nodes.summarise import MOST_PARTS, PART
    from secondlook.roles.prompts import load

    if part.role == "code":
        return PROFILE_TOKENS
    if part.role == "summarise":
        return MOST_PARTS * load(PART).max_tokens
    try:
        local = models.chat(part.spec).local
    except SecondlookError:  # whoever asks it gets the error
        local = False
    return settings.answer.evidence_tokens or (SENTENCES_TOKENS if local else PASSAGES_TOKENS)
