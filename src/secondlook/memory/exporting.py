"""A run as one piece of plain data, to be kept or looked into elsewhere (docs/runs.md)."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from secondlook.events import Answered

if TYPE_CHECKING:
    from secondlook.memory.runs import RunStore, RunSummary

FORMAT = "secondlook-run"
VERSION = 1
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")


def summary_form(run: RunSummary) -> dict[str, Any]:
    """What other programs know a run by."""
    return {
        "id": run.run,
        "question": run.question,
        "workflow": run.workflow,
        "status": run.status,
        "started": run.created,
        "stop_reason": run.stop_reason,
    }


def exported(store: RunStore, run: str) -> dict[str, Any]:
    """All that the record knows of a run, and no secret: settings are recorded without their
    passwords, and an address is given without the name and password before its host."""
    found = store.get(run)
    events = [one for one in store.events(found.run) if not isinstance(one, Answered)]
    journal = store.journal(found.run).entries()
    return {
        "format": FORMAT,
        "version": VERSION,
        **summary_form(found),
        "request": _without_credentials(found.request),
        "events": [event.model_dump(mode="json") for event in events],
        "journal": [{"key": key, **asdict(entry)} for key, entry in journal],
        "passages": store.kept(found.run),
        "answer": None if found.answer is None else found.answer.model_dump(mode="json"),
    }


def _without_credentials(value: Any) -> Any:
    if isinstance(value, str):
        return _CREDENTIALS.sub("", value)
    if isinstance(value, dict):
        return {name: _without_credentials(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_without_credentials(one) for one in value]
    return value
