"""An observer that keeps traces and counts. Whatever goes wrong in it stays in it."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secondlook.answer import CallUsage
    from secondlook.events import Event
    from secondlook.telemetry.meters import Meters
    from secondlook.telemetry.spans import Spans

_LOG = logging.getLogger(__name__)


class Telemetry:
    """Either half may be missing."""

    def __init__(self, spans: Spans | None, meters: Meters | None) -> None:
        self._spans = spans
        self._meters = meters

    def see(self, event: Event) -> None:
        with _never_failing():
            if self._spans is not None:
                self._spans.see(event)
            if self._meters is not None:
                self._meters.see(event)

    def left(self, run: str) -> None:
        with _never_failing():
            if self._spans is not None:
                self._spans.left(run)
            if self._meters is not None:
                self._meters.left(run)

    def called(self, run: str, usage: CallUsage, *, seconds: float, error: str | None) -> None:
        with _never_failing():
            if self._spans is not None:
                self._spans.called(run, usage, seconds=seconds, error=error)
            if self._meters is not None:
                self._meters.called(usage, seconds=seconds, error=error)


@contextmanager
def _never_failing() -> Iterator[None]:
    try:
        yield
    except Exception:  # noqa: BLE001  # whatever it is, answering goes on
        _LOG.warning("telemetry failed; answering goes on", exc_info=True)
