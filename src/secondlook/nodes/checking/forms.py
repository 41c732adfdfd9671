"""The forms of a model's reply where it judges an answer or its sentences: yes or no."""

from __future__ import annotations

from functools import cache, partial
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from secondlook.nodes.entries import usable

Said = Literal["yes", "no"]
_SAID: tuple[Said, ...] = get_args(Said)
_WORDS = {True: "yes", False: "no", "true": "yes", "false": "no"}


def _plain(value: Any) -> Any:
    """What a model means: `Yes.`, `true` and `"no"` are verdicts too."""
    said = value.strip(" .!\n").casefold() if isinstance(value, str) else value
    return _WORDS.get(said, said) if isinstance(said, str | bool) else said


def _is_known(value: Any) -> bool:
    return _plain(value) in _SAID


_readable = partial(usable, number="number", verdict="verdict", is_known=_is_known)


class Verdict(BaseModel):
    verdict: Annotated[Said, BeforeValidator(_plain)]


class SentenceVerdict(BaseModel):
    number: int
    verdict: Annotated[Said, BeforeValidator(_plain)]


class Verdicts(BaseModel):
    verdicts: Annotated[list[SentenceVerdict], BeforeValidator(_readable)] = Field(min_length=1)


@cache
def verdicts_of(count: int) -> type[Verdicts]:
    """The form for so many sentences. Servers that hold a model to a schema make it judge each of
    them; of the others a short reply is taken."""

    def complete(schema: dict[str, Any]) -> None:
        schema["properties"]["verdicts"] |= {"minItems": count, "maxItems": count}

    class Complete(Verdicts):
        model_config = ConfigDict(title="Verdicts", json_schema_extra=complete)

    return Complete
