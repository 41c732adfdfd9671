"""Settings that are numbers: which one is meant, what it may be, and values worth trying."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from secondlook.errors import UsageError
from secondlook.settings import KEYS, SECTIONS
from secondlook.settings.mistakes import in_plain_words, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from secondlook.settings import Settings

_NOT_OF_ANSWERS = frozenset({"library", "ingest", "runs"})
"""Sections that change no answer."""
_AS_CALIBRATED = -1.0
_SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)
_EVENLY = (0.0, 0.25, 0.5, 0.75, 1.0)
_AROUND_ZERO = (-2.0, -1.0, 0.0, 1.0, 2.0)
_TIMES = (0.25, 0.5, 1.0, 2.0, 4.0)


@dataclass(frozen=True, slots=True)
class Numeric:
    """One setting that is a number."""

    key: str
    whole: bool
    default: float
    now: float
    low: float | None
    high: float | None
    between: bool = False
    """A bound itself is not allowed."""


def numeric_setting(given: str, settings: Settings) -> Numeric:
    """By its dotted key, or by its name alone where no two sections have it."""
    key = _key(given)
    section, name = key.split(".")
    field = SECTIONS[section].model_fields[name]
    now = getattr(getattr(settings, section), name)
    bounds = {kind: _bound(field.metadata, kind) for kind in ("ge", "gt", "le", "lt")}
    return Numeric(
        key=key,
        whole=field.annotation is int,
        default=field.default,
        now=now,
        low=bounds["ge"] if bounds["ge"] is not None else bounds["gt"],
        high=bounds["le"] if bounds["le"] is not None else bounds["lt"],
        between=bounds["gt"] is not None or bounds["lt"] is not None,
    )


def checked_values(setting: Numeric, values: Sequence[float] | None) -> tuple[float, ...]:
    """The given values, each once, in order; those worth trying where none are given."""
    if values is not None and not values:
        raise UsageError(f"no value for {setting.key}", hint="give --values 1,2,3")
    wanted = _worth_trying(setting) if values is None else values
    return tuple(sorted({_checked(setting, value) for value in wanted}))


def _key(given: str) -> str:
    numbers = list(_numeric_keys())
    if given in numbers:
        return given
    named = [key for key in numbers if key.partition(".")[2] == given]
    if len(named) == 1:
        return named[0]
    if named:
        raise UsageError(
            f"{given!r} is a setting of several sections", hint=f"Say which: {', '.join(named)}."
        )
    raise _no_number(given, numbers)


def _numeric_keys() -> Iterable[str]:
    for key in KEYS:
        section, name = key.split(".")
        number = SECTIONS[section].model_fields[name].annotation in {int, float}
        if number and section not in _NOT_OF_ANSWERS:
            yield key


def _no_number(given: str, numbers: Sequence[str]) -> UsageError:
    meant = nearest(given, numbers) or _by_last_part(given, numbers)
    known = given in KEYS
    why = "is no number that changes an answer" if known else "is no setting"
    hint = f"Did you mean {meant!r}? " if meant else ""
    return UsageError(f"{given!r} {why}", hint=f"{hint}docs/settings.md lists all settings.")


def _by_last_part(given: str, numbers: Sequence[str]) -> str | None:
    """The section may be missing or wrong, and the name mistyped."""
    by_name = {key.partition(".")[2]: key for key in numbers}
    meant = nearest(given.rpartition(".")[2], by_name)
    return by_name[meant] if meant else None


def _bound(metadata: Iterable[Any], kind: str) -> float | None:
    return next((getattr(one, kind) for one in metadata if hasattr(one, kind)), None)


def _checked(setting: Numeric, value: float) -> float:
    typed = int(value) if setting.whole and float(value).is_integer() else value
    section, name = setting.key.split(".")
    field = SECTIONS[section].model_fields[name]
    # Alone: what contradicts another setting is told when all of them are known.
    adapter: TypeAdapter[Any] = TypeAdapter(
        Annotated[field.annotation, field],  # type: ignore[arg-type]  # an annotation is a value here
        config=ConfigDict(strict=True),
    )
    try:
        adapter.validate_python(typed)
    except ValidationError as error:
        allowed = in_plain_words(error.errors()[0]["msg"])
        raise UsageError(f"{setting.key} {allowed}, not {value!r}", hint="see --values") from error
    return typed


def _worth_trying(setting: Numeric) -> list[float]:
    """Around the default, within the bounds."""
    low, high, default = setting.low, setting.high, setting.default
    if low == _AS_CALIBRATED and default == _AS_CALIBRATED:
        return list(_SHARES)
    if low is not None and high is not None and not setting.whole:
        shares = _SHARES if setting.between else _EVENLY
        return sorted({*(low + share * (high - low) for share in shares), default})
    if default == 0 and low is None:
        return list(_AROUND_ZERO)
    if default == 0:
        raise UsageError(
            f"0 is no value to go by for {setting.key}", hint="say which to try: --values 1,2,3"
        )
    tried = [default * times for times in _TIMES]
    tried = [float(round(value)) if setting.whole else value for value in tried]
    return [value for value in tried if _within(value, low, high)]


def _within(value: float, low: float | None, high: float | None) -> bool:
    return (low is None or value >= low) and (high is None or value <= high)
