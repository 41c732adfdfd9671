"""Which steps pay, measured on anyone's own questions: `secondlook eval` (docs/evaluation.md)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.evaluation.records import Results


def evaluate(
    path: str | Path,
    *,
    workflows: Sequence[str] = (),
    ablate: bool = False,
    settings: Mapping[str, object] | None = None,
    out: str | Path | None = None,
    **options: Any,
) -> Results:
    """Answer the questions of a set under each workflow, and say how good the answers are.
    `settings` are dotted keys with values, such as `{"models.default": "none"}`. Further options:
    `threads`, `limit`, `seed`, `repeat`, `jobs`, `metric`, `preset`, `fresh`, and `progress`, a
    function that hears how far it is; with `ablate` also `margin`."""
    from secondlook.evaluation.runner import Request
    from secondlook.evaluation.study import evaluate, evaluate_ablation

    listen = {name: options.pop(name) for name in ("progress", "margin") if name in options}
    request = Request(
        Path(path),
        flags=settings or {},
        out=Path(out) if out is not None else None,
        study="ablation" if ablate else "",
        **options,
    )
    work = evaluate_ablation if ablate else evaluate
    return work(request, workflows, **listen)
