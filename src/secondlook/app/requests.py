"""What a person asks for, before a run begins: the workflow that is meant, the question made
stand-alone, and how often answers may be wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from secondlook.errors import ModelError, UsageError
from secondlook.nodes.multiple_choice import MOST, parsed, rendered
from secondlook.nodes.multiple_choice.objects import in_order
from secondlook.nodes.multiple_choice.parsing import by_letter
from secondlook.nodes.stand_alone import StandAlone
from secondlook.reading.calibration import CALIBRATION_FILE, check_share, load_calibration

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from secondlook.context import Titled
    from secondlook.library import Library
    from secondlook.memory.journal import Journal
    from secondlook.memory.ledger import Ledger
    from secondlook.models import Models
    from secondlook.nodes.stand_alone import Turn
    from secondlook.settings import Settings
    from secondlook.state import Scope

SUMMARY = "summary"
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

    chosen = (
        settings
        or load(
            {
                "library.path": str(library) if library is not None else None,
                "models.default": model,
                "web.enable_web_search": web,
                "answer.k": k,
                "budget.seconds": timeout,
            }
        ).settings
    )
    return with_risk(chosen, max_risk)


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
    meant, texts = _choosing(workflow, settings), _checked(choices)
    if parsed(question).choices:
        raise UsageError(
            "the question itself holds choices already", hint="give them there or apart, not both"
        )
    return _unicode(rendered(question.strip(), by_letter(texts))), meant


def _unicode(text: str) -> str:
    """What no encoding can write down, such as bytes that a shell passed on, cannot be recorded."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _choosing(workflow: str | None, settings: Settings) -> str:
    """Who gives choices and names no workflow means the one that can choose."""
    configured = settings.answer.workflow
    meant = workflow or (CHOOSING if configured == "linear" else configured)
    if meant not in {CHOOSING, AUTO}:
        raise UsageError(
            f"the workflow {meant!r} cannot choose among answers",
            hint=f"ask with the workflow {CHOOSING!r}, or without choices",
        )
    return meant


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
    if not 1 < len(texts) <= MOST:
        raise UsageError(
            f"there are {len(texts)} choices", hint=f"give from 2 to {MOST}, or ask without"
        )
    if not all(text.strip() for text in texts):
        raise UsageError(f"a choice is empty: {choices!r}", hint="say what there is to choose")
    return list(texts)


async def made_stand_alone(
    models: Models,
    ledger: Ledger,
    workflow: str,
    question: str,
    earlier: Sequence[Turn],
    *,
    run: str = "",
    journal: Journal | None = None,
) -> StandAlone:
    """The question as it reads without the turns before it. What that takes counts as the run's,
    and leaves room for the answer."""
    if not earlier:
        return StandAlone(question)
    apart = parsed(question)
    if apart.choices:  # they are no part of what leans on earlier turns
        made = await made_stand_alone(
            models, ledger, workflow, apart.stem, earlier, run=run, journal=journal
        )
        return replace(made, asked=rendered(made.asked, apart.choices))
    from secondlook.memory.journal import MemoryJournal
    from secondlook.nodes.condense import condense

    asker = models.asker(
        run=run, workflow=workflow, ledger=ledger, journal=journal or MemoryJournal()
    )
    return await condense(asker, question, earlier)


def titles_within(library: Library) -> Callable[[Scope], Sequence[Titled]]:
    """Who tells the documents of a scope by their names."""

    def titles(scope: Scope) -> Sequence[Titled]:
        there = scope["documents"]
        # A label is KEY=VALUE, and no key holds the sign.
        filters = dict(label.split("=", 1) for label in scope["labels"])
        return [
            document
            for document in library.documents(filters=filters)
            if there is None or document.id in there
        ]

    return titles


def calibration_file(library: Library) -> Path:
    """Where the library's own calibration lies if it has one."""
    return library.path / CALIBRATION_FILE


def with_risk(settings: Settings, max_risk: float | None) -> Settings:
    """The settings, with another risk allowed if one is given."""
    if max_risk is None:
        return settings
    check_share("max_risk", max_risk)
    answer = settings.answer.model_copy(update={"max_risk": float(max_risk)})
    return settings.model_copy(update={"answer": answer})


def check_risk(library: Library, max_risk: float | None) -> None:
    """Whether any promise can be made: somebody must have counted wrong answers of this reader."""
    if max_risk is None:
        return
    try:
        reader = library.shelf().reader_name
    except ModelError:  # the run tells what is wrong with it
        return
    calibration = load_calibration(reader, calibration_file(library))
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
