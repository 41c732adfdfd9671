"""The form of a model's reply: a grade by passage number."""

from __future__ import annotations

from functools import cache, partial
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from secondlook.nodes.entries import usable

Said = Literal["answers", "about", "no"]
_SAID = get_args(Said)


def _plain(value: Any) -> Any:
    return value.strip().casefold() if isinstance(value, str) else value


def _is_known(value: Any) -> bool:
    return _plain(value) in _SAID


_readable = partial(usable, number="passage", verdict="grade", is_known=_is_known)


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
