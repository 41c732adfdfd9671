"""The form of a model's reply: a grade by passage number."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

Said = Literal["answers", "about", "no"]
_SAID = get_args(Said)


def _plain(value: Any) -> Any:
    return value.strip().casefold() if isinstance(value, str) else value


def _readable(value: Any) -> Any:
    """Without the entries that are none, unless all are: then the whole is refused."""
    if not isinstance(value, list):
        return value
    return [entry for entry in value if _is_entry(entry)] or value


def _is_entry(entry: Any) -> bool:
    if not isinstance(entry, dict):
        return False
    number = entry.get("passage")
    numbered = isinstance(number, int) or (isinstance(number, str) and number.strip().isdecimal())
    return numbered and _plain(entry.get("grade")) in _SAID


class PassageGrade(BaseModel):
    passage: int
    grade: Annotated[Said, BeforeValidator(_plain)]


class Grades(BaseModel):
    grades: Annotated[list[PassageGrade], BeforeValidator(_readable)] = Field(min_length=1)


@cache
def grades_of(count: int) -> type[Grades]:
    """The form for so many passages. Servers that hold a model to a schema make it grade each of
    them; of the others a short reply is taken, as long as it grades one that was shown."""

    def complete(schema: dict[str, Any]) -> None:
        schema["properties"]["grades"] |= {"minItems": count, "maxItems": count}

    class Complete(Grades):
        model_config = ConfigDict(title="Grades", json_schema_extra=complete)

        @model_validator(mode="after")
        def _grades_something(self) -> Self:
            if not any(1 <= entry.passage <= count for entry in self.grades):
                raise ValueError(f"passages are numbered from 1 to {count}")
            return self

    return Complete
