"""What a question may be and take: choices, risk and budget, and the settings that follow."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypedDict, Unpack

from pydantic import ValidationError

from secondlook.errors import ModelError, SecondlookError, UsageError
from secondlook.graphs.registry import WORKFLOWS
from secondlook.models.budget import Ledger
from secondlook.models.prices import Caps, SetAside
from secondlook.nodes.choices import MOST_CHOICES, by_letter, in_order, parsed, rendered
from secondlook.reading.calibration import CALIBRATION_FILE, load_calibration
from secondlook.reading.risk import check_share
from secondlook.retrieval.index.port import Filter
from secondlook.settings.sections import BudgetSettings, Settings

if TYPE_CHECKING:
    from pathlib import Path

    from secondlook.library.library import Library
    from secondlook.models.calls import Asker, Models
    from secondlook.models.specs import Part
    from secondlook.nodes.state import Scope
    from secondlook.roles.follow_up import StandAlone, Turn
    from secondlook.store.tables import Handed
    from secondlook.tables.desk import Desk

CHOOSING: Final = "research"  # the workflow that chooses among given answers
AUTO: Final = "auto"  # the workflow that picks another one


class EngineOptions(TypedDict, total=False):
    model: str | None
    web: bool | None
    k: int | None
    timeout: float | None
    max_risk: float | None
    settings: Settings | None


class QuestionOptions(TypedDict, total=False):
    choices: Mapping[str, str] | Sequence[str] | None  # to choose from, by letter or in order
    workflow: str | None  # None = that of the settings; `auto` looks at the question and picks one
    filters: Mapping[str, object] | None  # search documents with such metadata alone
    documents: Collection[str] | None  # search these alone, named by id, path, file name or title
    tables: Mapping[str, object] | None  # data frames, pyarrow tables, rows as dicts, paths
    earlier: Sequence[Turn]  # turns of the conversation, which make a follow-up stand-alone
    trust: Collection[str] | None  # documents that are read although they give a model orders
    max_risk: float | None  # share of answers that may be wrong; others are withheld
    budget: Budget | None  # caps what this question may take, within what the settings allow
    caller: Mapping[str, Any]  # recorded for the program that asks


class AskOptions(QuestionOptions, EngineOptions, total=False):
    """Of one question that opens the library itself."""


def chosen_settings(
    library: str | Path | None = None, **options: Unpack[EngineOptions]
) -> Settings:
    from secondlook.settings import load

    settings, max_risk = options.get("settings"), options.get("max_risk")
    if settings is None:
        given = {
            "library.path": str(library) if library is not None else None,
            "models.default": options.get("model"),
            "web.enable_web_search": options.get("web"),
            "answer.k": options.get("k"),
            "budget.seconds": options.get("timeout"),
        }
        settings = load(given).settings
    return settings if max_risk is None else with_risk(settings, max_risk)


def with_choices(
    question: str,
    choices: Mapping[str, str] | Sequence[str],
    workflow: str | None,
    settings: Settings,
) -> tuple[str, str]:
    """The question with its choices, as it is recorded, and the workflow that can choose."""
    configured = settings.answer.workflow
    meant = workflow or (CHOOSING if configured == "linear" else configured)
    if meant not in {CHOOSING, AUTO}:
        said = f"the workflow {meant!r} cannot choose among answers"
        raise UsageError(said, hint=f"ask with the workflow {CHOOSING!r}, or without choices")
    texts = in_order(choices) if isinstance(choices, Mapping) else choices
    usable = (
        texts is not None
        and not isinstance(texts, str)
        and 1 < len(texts) <= MOST_CHOICES
        and all(isinstance(text, str) and text.strip() for text in texts)
    )
    if texts is None or not usable:
        hint = f"give from 2 to {MOST_CHOICES} texts as a list, or by their letters from A on"
        raise UsageError(f"these are no choices: {choices!r}", hint=hint)
    if parsed(question).choices:
        said = "the question itself holds choices already"
        raise UsageError(said, hint="give them there or apart, not both")
    asked = rendered(question.strip(), by_letter(list(texts)))
    return asked.encode("utf-16", "surrogatepass").decode("utf-16", "replace"), meant


async def made_stand_alone(asker: Asker, question: str, earlier: Sequence[Turn]) -> StandAlone:
    """The question as it reads without the turns before it."""
    from secondlook.nodes.rewrite import condense

    apart = parsed(question)
    if not apart.choices:
        return await condense(asker, question, earlier)
    made = await condense(asker, apart.stem, earlier)  # choices lean on no earlier turn
    return replace(made, asked=rendered(made.asked, apart.choices))


def with_risk(settings: Settings, max_risk: float) -> Settings:
    check_share("max_risk", max_risk)
    answer = settings.answer.model_copy(update={"max_risk": float(max_risk)})
    return settings.model_copy(update={"answer": answer})


def check_risk(library: Library, max_risk: float) -> None:
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
    said = f"max_risk {max_risk:g} cannot be promised: {calibration.warning or why}"
    raise UsageError(said, hint="run secondlook calibrate, or ask without a limit on the risk")


# What one question may take: its budget, and what of it is kept for the call that answers.

Budget = Mapping[str, float] | BudgetSettings  # what is left out is not capped

_FRAME_TOKENS: Final = 600  # what a prompt tells beside evidence and question
_SHARE_OF_TIME: Final = 0.25  # of the time for models: what the others leave to the last call
_LATEST: Final = 1.0  # seconds before the deadline that are left to the reader


def with_budget(settings: Settings, asked: Budget) -> Settings:
    """The settings, with the budget of one question. It may lower the caps, never raise them."""
    try:
        given = BudgetSettings.model_validate(dict(asked))
    except (ValidationError, TypeError, ValueError) as error:
        hint = "give any of calls, tokens, money and seconds, such as {'calls': 5}"
        raise UsageError(f"this is no budget: {asked!r}", hint=hint) from error
    own = settings.budget
    lowest = {
        name: min(filter(None, (getattr(own, name), getattr(given, name))), default=0)
        for name in BudgetSettings.model_fields
    }
    return settings.model_copy(update={"budget": BudgetSettings(**lowest)})


def ledger_for(settings: Settings, models: Models, workflow: str, question: str) -> Ledger:
    own = settings.budget
    seconds = max(0.8 * own.seconds, own.seconds - _LATEST)
    caps = Caps(own.calls, own.tokens, own.money, seconds)
    if caps == Caps():
        return Ledger(caps)
    return Ledger(caps, set_aside=last_call(settings, models, workflow, question, caps))


def last_call(
    settings: Settings, models: Models, workflow: str, question: str, caps: Caps
) -> SetAside | None:
    from secondlook.models.chat import approximate_tokens
    from secondlook.roles.prompts import load

    seconds = _SHARE_OF_TIME * caps.seconds
    if not (caps.tokens or caps.money):  # a call is a call, however long
        return None if caps == Caps() else SetAside(0, 0, seconds=seconds)
    sizes, priced = [], []
    calls = [(one.name, *call) for one in WORKFLOWS.values() for call in one.last]
    for name, role, prompt in calls:
        part = models.cast.part(role, name)
        chosen = role != "choose" or parsed(question).choices
        if workflow in {name, AUTO} and part.spec.named and chosen:
            tokens_out = part.options.max_tokens or load(prompt).max_tokens
            tokens_in = _shown(settings, models, part) + _FRAME_TOKENS
            sizes.append((tokens_in, tokens_out))
            if (price := models.price(part.spec)) is not None:
                worst = price.worst(tokens_in=tokens_in, tokens_out=tokens_out)
                priced.append((worst, price))
    if not sizes:
        return None
    most_in, most_out = map(max, zip(*sizes, strict=True))
    return SetAside(
        most_in + approximate_tokens(question),
        most_out,
        price=max(priced, key=lambda one: one[0])[1] if priced else None,
        seconds=seconds,
    )


def _shown(settings: Settings, models: Models, part: Part) -> int:
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
    except SecondlookError:  # the call itself tells the error
        local = False
    return settings.answer.evidence_tokens or (SENTENCES_TOKENS if local else PASSAGES_TOKENS)


# Which tables a question is over: those handed over with it, and those of the library.

ANALYST: Final = "analyst"  # who hands tables over and names no workflow means it
_OVER_TABLES: Final = (ANALYST, "auto")
_MOST_TABLES = 100


def check_tables(tables: object) -> Mapping[str, object]:
    """What was handed over, told apart from what cannot have been meant."""
    names = list(tables) if isinstance(tables, Mapping) else []
    named = all(isinstance(name, str) and name.strip() for name in names)
    if not isinstance(tables, Mapping) or not 0 < len(names) <= _MOST_TABLES or not named:
        raise UsageError(
            f"tables are not from 1 to {_MOST_TABLES} tables by name: {type(tables).__name__!r}"
            + (f" of {', '.join(map(repr, names[:5]))}" if names else ""),
            hint='such as tables={"sales": frame}, where a table is a data frame, a path, or rows',
        )
    return tables


def workflow_for(tables: object, workflow: str | None, settings: Settings) -> str:
    """With tables and no workflow named, the one that computes with them, or the one that picks."""
    check_tables(tables)
    usual = settings.answer.workflow
    meant = workflow or (usual if usual in _OVER_TABLES else ANALYST)
    if meant not in _OVER_TABLES:
        said = f"the workflow {workflow!r} does not compute with tables"
        raise UsageError(said, hint=f"ask with the workflow {ANALYST!r}, or without tables")
    return meant


def desk_of(
    library: Library, workflow: str | None, scope: Scope, handed: Handed | None
) -> Desk | None:
    """The tables of a run; None where its workflow asks for none, or they cannot be listed. Those
    of the library lie beside what was handed over where the question names a part of it."""
    if workflow not in _OVER_TABLES:
        return None
    documents, labels = scope["documents"], frozenset(scope["labels"])
    where = Filter(documents=None if documents is None else frozenset(documents), labels=labels)
    try:
        if handed is None:
            return library.desk(where=where)
        from secondlook.tables.desk import Desk

        desk = Desk(handed.entries, folder=handed.folder, worker=library.worker())
        if documents is None and not labels:
            return desk
        held = library.desk(where=where)
        return desk.with_tables([(table, held.file(table.id)) for table in held.tables()])
    except (SecondlookError, OSError):
        if workflow == ANALYST or handed is not None:
            raise
        return None
