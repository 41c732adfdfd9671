"""A whole number in a body of JSON: `5` and `5.0` are one, `"5"` and `true` are none."""

from typing import Annotated

from pydantic import BeforeValidator, Strict


def _without_fraction(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


WholeNumber = Annotated[int, Strict(), BeforeValidator(_without_fraction)]
