"""Which workflow an evaluation is of where none is named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from secondlook.app.requests import AUTO

if TYPE_CHECKING:
    from secondlook.settings import Settings

BASELINE: Final = "linear"


def workflow_evaluated(settings: Settings) -> str:
    """The configured one. Who picks among workflows has no steps of its own to measure: then it is
    the baseline, and `auto` is evaluated where it is named."""
    configured = settings.answer.workflow
    return BASELINE if configured == AUTO else configured
