"""What models cost. A price that nobody has written down is unknown, never 0."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from importlib.resources import files
from typing import TYPE_CHECKING, Annotated, NamedTuple

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from secondlook.errors import SettingsError

if TYPE_CHECKING:
    from pathlib import Path

    from secondlook.models.specs import ModelSpec

NOTHING = Decimal(0)
_PER = Decimal(1_000_000)
Amount = Annotated[float, Field(ge=0, strict=True)]


@dataclass(frozen=True, slots=True)
class Caps:
    """The most that one run may spend; 0 = no cap."""

    calls: int = 0
    tokens: int = 0
    money: float = 0.0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens. `cached` is of input the provider had seen; None = as new."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    input: Amount
    output: Amount
    cached: Amount | None = None

    def of(self, *, tokens_in: int, tokens_out: int, tokens_cached: int = 0) -> Decimal:
        """`tokens_in` includes the cached ones."""
        cached = self.input if self.cached is None else self.cached
        seen = min(tokens_cached, tokens_in)
        dollars = decimal(self.input) * (tokens_in - seen) + decimal(cached) * seen
        return (dollars + decimal(self.output) * tokens_out) / _PER

    def worst(self, *, tokens_in: int, tokens_out: int) -> Decimal:
        """Where the cache costs more than it saves, all of it might have been cached."""
        return max(
            self.of(tokens_in=tokens_in, tokens_out=tokens_out, tokens_cached=cached)
            for cached in (0, tokens_in)
        )


class SetAside(NamedTuple):
    """What other calls must leave for one final call, so that a run can end with an answer."""

    tokens_in: int
    tokens_out: int
    price: Price | None = None  # of the final call; None = as of the call that wants to go first
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Reservation:
    """Leave for one call. Settle it when it happened, release it when it did not."""

    node: str
    role: str
    model: str
    tokens_in: int
    max_tokens_out: int
    price: Price | None
    final: bool = False
    more_in: int = 0  # on top, for a model that was seen to count more than was reserved
    more_out: int = 0

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.more_in + self.max_tokens_out + self.more_out

    @property
    def cost(self) -> Decimal:
        """At worst. An unknown price is 0 here: with a cap on money nothing unknown is let in."""
        if self.price is None:
            return NOTHING
        return self.price.worst(
            tokens_in=self.tokens_in + self.more_in, tokens_out=self.max_tokens_out + self.more_out
        )


def decimal(value: float) -> Decimal:
    """As it is written: 0.1 is a tenth."""
    return Decimal(repr(value))


FREE = Price(0.0, 0.0, 0.0)
_TABLE = TypeAdapter(dict[str, Price])
_DATED = re.compile(r"-(?:20\d{2}-?\d{2}-?\d{2}|latest)$")  # costs what the plain name does


class Prices:
    """Ours, with those of the user's file on top. Read when first needed."""

    def __init__(self, own: Path | None = None) -> None:
        self._own = own

    def names(self) -> list[str]:
        return sorted(self._table)

    def of(self, spec: ModelSpec) -> Price | None:
        """None when unknown."""
        named = f"{spec.provider}:{spec.model}"
        for name in (spec.text, named, _DATED.sub("", named)):
            # At another address the same name may be another's offer, at another price.
            if name in self._table and (name == spec.text or spec.address is None):
                return self._table[name]
        hosted = spec.model.endswith(("-cloud", ":cloud")) or "ollama.com" in (spec.base_url or "")
        return FREE if (spec.local or spec.provider == "ollama") and not hosted else None

    @cached_property
    def _table(self) -> dict[str, Price]:
        ours = files("secondlook.models").joinpath("prices.toml").read_text("utf-8")
        table = _TABLE.validate_python(tomllib.loads(ours))
        if self._own is None:
            return table
        try:
            text = self._own.read_bytes().decode("utf-8-sig")
            return table | _TABLE.validate_python(tomllib.loads(text))
        except (OSError, ValueError) as error:
            said = str(error)
            if isinstance(error, ValidationError):
                said = f"{error.errors()[0]['loc'][0]!r} is not a price"
            hint = 'Write ["provider:model"] and below it input = 0.15, output = 0.60.'
            said = f"models.prices: {self._own} cannot be read: {said}"
            raise SettingsError(said, hint=hint) from error
