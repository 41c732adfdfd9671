"""What turns the reader's raw judgement into a probability: data that belongs to one reader."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from secondlook.errors import SecondlookError
from secondlook.reading.support.coverage import ALL_CAPS

if TYPE_CHECKING:
    from pathlib import Path

    from secondlook.reading.support.coverage import Cap

FORMAT: Final = 1
SHIPPED: Final = "head.json"
_AGAIN = "python -m benchmarks.groundedness fit makes a new one"


class SupportHeadError(SecondlookError):
    """The probabilities of a support head cannot be used."""


@dataclass(frozen=True, slots=True)
class SupportHead:
    """Probability = 1 / (1 + exp(-(bias + weight * logit))), capped by what must not be missing."""

    reader: str
    """Identity of the reader that it was fitted for."""
    bias: float
    weight: float
    caps: tuple[Cap, ...] = ALL_CAPS

    def probability(self, logit: float) -> float:
        value = self.bias + self.weight * logit
        return 1 / (1 + math.exp(-value)) if value > 0 else math.exp(value) / (1 + math.exp(value))


def save_head(file: Path, head: SupportHead, **about: Any) -> None:
    """`about`: when, how and on what it was fitted."""
    form = {
        "format": FORMAT,
        "reader": head.reader,
        "bias": round(head.bias, 5),
        "weight": round(head.weight, 5),
        "caps": list(head.caps),
        **about,
    }
    file.write_text(json.dumps(form, indent=1) + "\n", encoding="utf-8")


def read_head(file: Path) -> SupportHead:
    try:
        return _parsed(file.read_text("utf-8"))
    except OSError as error:
        raise SupportHeadError(f"{str(file)!r} cannot be read: {error}", hint=_AGAIN) from error


@lru_cache(maxsize=1)
def shipped_head() -> SupportHead:
    return _parsed(files(__package__).joinpath(SHIPPED).read_text("utf-8"))


def _parsed(text: str) -> SupportHead:
    try:
        form = json.loads(text)
        if form["format"] != FORMAT:
            raise SupportHeadError(
                f"a support head of format {form['format']!r}, not {FORMAT!r}", hint=_AGAIN
            )
        caps = tuple(one for one in ALL_CAPS if one in form["caps"])
        head = SupportHead(str(form["reader"]), float(form["bias"]), float(form["weight"]), caps)
    except (ValueError, KeyError, TypeError) as error:
        raise SupportHeadError(f"no support head: {error!r}", hint=_AGAIN) from error
    if not (math.isfinite(head.bias) and math.isfinite(head.weight) and head.weight > 0):
        raise SupportHeadError(
            f"a support head with bias {head.bias!r} and weight {head.weight!r}", hint=_AGAIN
        )
    return head
