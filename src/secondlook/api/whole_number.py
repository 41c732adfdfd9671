"""A whole number in a body of JSON: `5` and `5.0` are one, `"5"` and `true` are none."""

from pydantic import BeforeValidator


def _without_fraction(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


OrWithPoint = BeforeValidator(_without_fraction)
"""For an `int` of a strict model; behind its bounds, so that OpenAPI tells them."""
