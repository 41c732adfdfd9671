"""What is known after an attack: what the sandbox said, and what the world around it shows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from secondlook.sandbox.attacks.prelude import BEGUN, REACHED, REFUSED

if TYPE_CHECKING:
    from secondlook.sandbox.attacks.attack import Attack
    from secondlook.sandbox.port import Outcome

_MISTAKES = re.compile(r"\b(?:NameError|SyntaxError|TypeError|AttributeError|UnboundLocalError)\b")
_SECONDS_OF_GRACE = 15.0
"""Until a job is gone after its deadline, on a machine that is busy."""
_MOST_FAILURE = 1_000_000
_MOST_SAID = 160


@dataclass(frozen=True, slots=True)
class Evidence:
    attack: Attack
    outcome: Outcome | None
    """None where `run` itself failed."""
    broke: str | None
    """How it failed."""
    mark: str
    secrets: tuple[str, ...]
    seconds: float
    """Of the whole run, by our own clock."""
    peak_bytes: int
    """Most that one process of the sandbox held, as seen from outside."""
    parent_bytes: int
    """By how much our own process grew."""
    visible: tuple[str, ...]
    """What happened outside: a listener was reached, a file appeared, a process ended or stayed."""

    def lines(self, kind: str) -> list[str]:
        start = f"{self.mark} {kind}"
        text = self.outcome.stdout if self.outcome else ""
        return [line[len(start) :].strip() for line in text.splitlines() if line.startswith(start)]


def achieved(evidence: Evidence) -> str | None:
    """What the attack achieved, or why it proves nothing; None where it was blocked."""
    judges = (_ran, *evidence.attack.judges, _visible, _leaked, _boasted, _bounded)
    return next((said for judge in judges if (said := judge(evidence))), None)


def how_blocked(evidence: Evidence) -> str:
    """By what it was stopped, in a line."""
    outcome = evidence.outcome
    if outcome is None:
        return evidence.broke or ""
    refusals = evidence.lines(REFUSED)
    if outcome.failure is not None:
        said = f"{outcome.failure.kind}: {outcome.failure.message}"
        said = said if outcome.status == "error" else f"{outcome.status}: {said}"
    elif outcome.status != "ok":
        said = outcome.status
    elif refusals:
        said = refusals[-1].partition(": ")[2]  # without what was tried
    elif evidence.attack.group == "output":
        said = "what came back was within its bounds"
    else:
        said = "it ran to its end and achieved nothing"
    flat = " ".join(said.split())
    return flat if len(flat) <= _MOST_SAID else f"{flat[: _MOST_SAID - 3]}..."


def _ran(evidence: Evidence) -> str | None:
    """An attack that was never made says nothing about the sandbox."""
    if evidence.outcome is None:
        return f"the sandbox itself broke: {evidence.broke}"
    if not evidence.lines(BEGUN):
        return f"it could not be tried: {how_blocked(evidence)}"
    failure = evidence.outcome.failure
    mistakes = [line for line in evidence.lines(REFUSED) if _MISTAKES.search(line)]
    if failure is not None and _MISTAKES.fullmatch(failure.kind):
        mistakes.append(f"{failure.kind}: {failure.message}")
    return f"it has a mistake: {mistakes[0]}" if mistakes else None


def _visible(evidence: Evidence) -> str | None:
    return "; ".join(evidence.visible) or None


def _leaked(evidence: Evidence) -> str | None:
    text = repr(evidence.outcome)
    return "it read what was secret" if any(one in text for one in evidence.secrets) else None


def _boasted(evidence: Evidence) -> str | None:
    return "; ".join(evidence.lines(REACHED)) or None


def _bounded(evidence: Evidence) -> str | None:
    limits = evidence.attack.limits
    outcome = evidence.outcome
    said = outcome.failure.message if outcome and outcome.failure else ""
    if evidence.seconds > limits.seconds + _SECONDS_OF_GRACE:
        return f"it ran for {evidence.seconds:.0f} s"
    if evidence.peak_bytes > limits.address_space:
        return f"it held {evidence.peak_bytes:,} bytes"
    if len(said) > _MOST_FAILURE:
        return f"its error has {len(said):,} characters"
    return None


def too_much_said(evidence: Evidence) -> str | None:
    """More came back than allowed, or our own process grew by it."""
    outcome, limits = evidence.outcome, evidence.attack.limits
    if outcome is None:
        return None
    if len(outcome.stdout) > limits.stdout_bytes:
        return f"{len(outcome.stdout):,} characters of output came back"
    drawn = sum(len(figure.data) for figure in outcome.figures)
    if drawn > limits.reply_bytes or len(repr(outcome.result)) > 2 * limits.reply_bytes:
        return "a reply above the limit came back"
    most = 16 * limits.reply_bytes + limits.stdout_bytes
    grown = evidence.parent_bytes > most
    return f"our own process grew by {evidence.parent_bytes:,} bytes" if grown else None


def not_ended(evidence: Evidence) -> str | None:
    """What would go on for ever must be ended, and be said to have been."""
    ok = evidence.outcome is not None and evidence.outcome.status == "ok"
    return "it ran to its end" if ok else None


def forged(evidence: Evidence) -> str | None:
    outcome = evidence.outcome
    if outcome is None:
        return None
    taken = f"forged {evidence.mark}" in f"{outcome.result!r}{outcome.figures!r}{outcome.frames!r}"
    return "a reply that the code wrote itself was taken for the sandbox's" if taken else None
