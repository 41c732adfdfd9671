"""Who serves which role, as a table: for `secondlook models` and for the page."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from secondlook.models.prices import Prices
from secondlook.models.probe import stored_probe
from secondlook.models.specs import ROLES, Cast, ladder
from secondlook.nodes.grade import fit_of

if TYPE_CHECKING:
    from secondlook.models.specs import Part
    from secondlook.settings.sections import Settings


def cast_rows(settings: Settings) -> list[dict[str, Any]]:
    """A row for each role, then one for each that a workflow has a model of its own for."""
    cast = Cast(settings.models)
    rows = [_row(cast.part(role), None, settings) for role in ROLES]
    for name in cast.own:
        workflow, dot, role = name.rpartition(".")
        if dot:
            part = cast.part(next(one for one in ROLES if one == role), workflow)
            rows.append(_row(part, workflow, settings))
    return rows


def _row(part: Part, workflow: str | None, settings: Settings) -> dict[str, Any]:
    probe = stored_probe(part.spec) if part.spec.named else None
    fit = fit_of(probe) if probe and part.role == "grade" else None
    mode = part.options.mode or (probe.mode if probe else ladder(part.spec)[0])
    price = Prices(settings.models.prices).of(part.spec) if part.spec.named else None
    named = part.spec.named
    who = {"role": part.role, "workflow": workflow, "model": part.spec.text, "serves": named}
    return who | {
        "local": part.spec.local if named else None,
        "mode": mode if named else None,
        "options": part.options.model_dump(exclude_defaults=True),
        "price": asdict(price) if price else None,
        "probed": probe.measured if probe else None,
        "grading": asdict(fit.passages) if fit and fit.passages else None,
    }
