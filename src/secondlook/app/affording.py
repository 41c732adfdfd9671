"""What one question may take: its budget, and what of it is kept for the call that answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from secondlook.errors import SecondlookError, UsageError
from secondlook.memory.ledger import Caps, Ledger, SetAside
from secondlook.settings import BudgetSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secondlook.memory.ledger import Price
    from secondlook.models import Models
    from secondlook.models.port import Role
    from secondlook.models.roles import Part
    from secondlook.settings import Settings

Budget = Mapping[str, float] | BudgetSettings
"""`calls`, `tokens`, `money` (US dollars) and `seconds`; what is left out is not capped."""

_FRAME_TOKENS: Final = 600
"""What a prompt tells beside its evidence and the question, marks included."""
_SHARE_OF_TIME: Final = 0.25
"""Of the time for models: what the others leave to the last call."""
_LATEST: Final = 1.0
"""Seconds before the deadline after which no model is waited for, or a fifth of a short one: what
models do not answer, the reader still can."""


def with_budget(settings: Settings, asked: Budget | None) -> Settings:
    """The settings, with the budget of one question. It may lower the caps, never raise them."""
    if asked is None:
        return settings
    given, own = _checked(asked), settings.budget
    lowest = {
        name: min(filter(None, (getattr(own, name), getattr(given, name))), default=0)
        for name in BudgetSettings.model_fields
    }
    return settings.model_copy(update={"budget": BudgetSettings(**lowest)})


def _checked(asked: Budget) -> BudgetSettings:
    if isinstance(asked, BudgetSettings):
        return asked
    try:
        return BudgetSettings.model_validate(dict(asked))
    except (ValidationError, TypeError, ValueError) as error:
        raise UsageError(
            f"this is no budget: {asked!r}",
            hint="give any of calls, tokens, money and seconds, such as {'calls': 5}",
        ) from error


def ledger_for(settings: Settings, models: Models, workflow: str, question: str) -> Ledger:
    """The account of a run."""
    caps = Caps.of(settings.budget)
    caps = replace(caps, seconds=max(0.8 * caps.seconds, caps.seconds - _LATEST))
    return Ledger(caps, set_aside=last_call(settings, models, workflow, question, caps))


def last_call(
    settings: Settings, models: Models, workflow: str, question: str, caps: Caps
) -> SetAside | None:
    """What the call takes that a workflow cannot answer without; None where there is none."""
    if caps == Caps():
        return None
    seconds = _SHARE_OF_TIME * caps.seconds
    if not (caps.tokens or caps.money):  # a call is a call, however long
        return SetAside(0, 0, seconds=seconds)
    sizes = [_Size.of(settings, models, *one) for one in _last_of(workflow, question, models)]
    if not sizes:
        return None
    from secondlook.models.counting import approximate_tokens

    return SetAside(
        max(size.tokens_in for size in sizes) + approximate_tokens(question),
        max(size.tokens_out for size in sizes),
        price=_dearest(sizes),
        seconds=seconds,
    )


@dataclass(frozen=True, slots=True)
class _Size:
    tokens_in: int
    tokens_out: int
    price: Price | None

    @classmethod
    def of(cls, settings: Settings, models: Models, part: Part, prompt: str) -> _Size:
        from secondlook.prompts import load

        longest = part.options.max_tokens or load(prompt).max_tokens
        shown = _shown(settings, models, part)
        return cls(shown + _FRAME_TOKENS, longest, models.price(part.spec))


def _last_of(workflow: str, question: str, models: Models) -> Iterator[tuple[Part, str]]:
    """Who makes the last call of a workflow, and with which prompt."""
    from secondlook.nodes.multiple_choice import parsed

    calls: list[tuple[str, Role, str]] = [
        *((name, "answer", "answer") for name in ("linear", "adaptive", "corrective")),
        ("research", "answer", "synthesise"),
        ("analyst", "code", "analyst_code"),
        ("summary", "summarise", "summarise_whole"),
    ]
    if parsed(question).choices:
        calls.append(("research", "choose", "choose"))
    for name, role, prompt in calls:
        part = models.cast.part(role, name)
        if workflow in {name, "auto"} and part.spec.named:
            yield part, prompt


def _shown(settings: Settings, models: Models, part: Part) -> int:
    """Tokens of evidence, notes or tables that its prompt holds."""
    from secondlook.nodes.showing import PASSAGES_TOKENS, SENTENCES_TOKENS
    from secondlook.nodes.summarise_parts import MOST_PARTS, PART
    from secondlook.prompts import load

    if part.role == "code":
        return settings.analyst.profile_tokens
    if part.role == "summarise":
        return MOST_PARTS * load(PART).max_tokens
    packing = settings.answer.packing
    short = _is_local(models, part) if packing == "auto" else packing == "sentences"
    return settings.answer.evidence_tokens or (SENTENCES_TOKENS if short else PASSAGES_TOKENS)


def _is_local(models: Models, part: Part) -> bool:
    try:
        return models.chat(part.spec).local
    except SecondlookError:  # it will be told by who asks it
        return False


def _dearest(sizes: list[_Size]) -> Price | None:
    def worst(size: _Size) -> Any:
        assert size.price is not None  # noqa: S101 - the others are left out
        return size.price.worst(tokens_in=size.tokens_in, tokens_out=size.tokens_out)

    priced = [size for size in sizes if size.price is not None]
    return max(priced, key=worst).price if priced else None
