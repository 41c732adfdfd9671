"""What can go wrong with a local model, in words for the person who configured it."""

from __future__ import annotations

import signal
from typing import Any

from secondlook.errors import (
    ContextOverflow,
    ModelError,
    ModelTimeout,
    ModelUnavailable,
    UnusableReply,
)

INSTALL_HINT = "Install it with: pip install 'secondlook[gguf]'"


class UnusableModel(ModelUnavailable):
    """The file or the engine is missing or unfit: another try would end the same way."""

    retryable = False


def died(spec: str, status: int, log: str) -> ModelUnavailable:
    """The worker ended in the middle of its work."""
    told = f": {log}" if log else ""
    hint = "It is started again with the next call."
    if -status == getattr(signal, "SIGKILL", 9):
        hint = f"Most likely the machine ran out of memory; try a smaller model. {hint}"
    return ModelUnavailable(
        f"the process of the model {spec!r} died ({_ending(status)}){told}", hint=hint
    )


def _ending(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"


def closed(spec: str) -> ModelUnavailable:
    return ModelUnavailable(f"the model {spec!r} was closed")


def overdue(spec: str, seconds: float, ahead: int) -> ModelTimeout:
    waited = f"; {ahead} other calls to it were still ahead" if ahead else ""
    return ModelTimeout(
        f"the model {spec!r} did not answer within {seconds:g} s{waited}",
        hint="Allow more time (models.timeout), or use a smaller model.",
    )


def from_worker(spec: str, message: dict[str, Any]) -> ModelError:
    """The worker lives and says why it could not do what it was told."""
    why = str(message.get("why", "no reason given"))
    match message.get("reason"):
        case "overflow":
            return ContextOverflow(
                f"the prompt does not fit into the model {spec!r}: {why}",
                hint="Use a model with a larger context, or less evidence (answer.k).",
            )
        case "schema":
            return UnusableReply(f"the model {spec!r} cannot be held to this JSON schema: {why}")
        case "engine":
            return UnusableModel(
                f"the engine for GGUF models is unusable: {why}", hint=INSTALL_HINT
            )
        case "load":
            return UnusableModel(
                f"the model {spec!r} could not be loaded: {why}",
                hint="The file may be damaged, or of a kind that this version of xllamacpp "
                "does not know: fetch it again, or try another model.",
            )
        case _:
            return ModelError(f"the model {spec!r} refused the request: {why}")
