"""A reply against what was asked for: found, validated, or the reason why it is unusable."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic

from pydantic import TypeAdapter, ValidationError

from secondlook.models.jsonlike import objects, whole_characters
from secondlook.models.port import T

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_PROBLEMS = 3
_SCHEMA_WORDS = frozenset({"properties", "$defs", "$schema", "$ref", "additionalProperties"})
_TYPE_NAMES = frozenset({"string", "str", "number", "integer", "boolean", "array", "object", "..."})


class Misread(Exception):
    """The reply cannot be used; the message is fit to be told to the model."""


@dataclass(frozen=True, slots=True)
class Read(Generic[T]):
    text: str
    value: T


class Form(Generic[T]):
    """What a reply must look like."""

    def __init__(self, kind: type[T]) -> None:
        self._adapter: TypeAdapter[T] = TypeAdapter(kind)
        self.schema: dict[str, Any] = self._adapter.json_schema()
        self.schema.setdefault("title", getattr(kind, "__name__", "Reply"))

    @property
    def text(self) -> str:
        return json.dumps(self.schema, ensure_ascii=False, separators=(",", ":"))

    def read(self, text: str) -> Read[T]:
        """The first object in the text that has the form. Raises `Misread`."""
        problem = "it holds no complete JSON object" if text.strip() else "it is empty"
        for found in objects(text):
            if repeats_schema(found, self.schema):
                problem = "it repeats the schema instead of filling it in"
                continue
            # Characters that are half a pair cannot be stored or sent on.
            plain = whole_characters(json.dumps(found, ensure_ascii=False))
            try:
                return Read(plain, self._adapter.validate_json(plain))
            except ValidationError as error:
                problem = _in_words(error)
        raise Misread(problem)


def repeats_schema(found: dict[str, Any], schema: dict[str, Any]) -> bool:
    """It is the schema, a part of it, or its descriptions and type names in place of values."""
    fields = set(schema.get("properties", {}))
    if _SCHEMA_WORDS & (set(found) - fields):
        return True
    if not fields or not set(found) & fields:
        return False
    if any(_is_field_schema(found.get(name), schema, name) for name in fields):
        return True
    said = [text for text in _strings(found) if text.strip()]
    return bool(said) and all(text.strip() in _TYPE_NAMES | _descriptions(schema) for text in said)


def _is_field_schema(value: Any, schema: dict[str, Any], name: str) -> bool:
    return isinstance(value, dict) and bool(value) and value == schema["properties"][name]


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def _descriptions(schema: Any) -> set[str]:
    """What the schema says about its fields, wherever it says it."""
    found: set[str] = set()
    if isinstance(schema, dict):
        said = schema.get("description")
        found |= {said.strip()} if isinstance(said, str) else set()
        schema = list(schema.values())
    if isinstance(schema, list):
        found = found.union(*map(_descriptions, schema))
    return found


def _in_words(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    told = [
        f"{'.'.join(map(str, problem['loc'])) or 'the object'}: {problem['msg']}"
        for problem in problems[:_MOST_PROBLEMS]
    ]
    more = len(problems) - len(told)
    return "; ".join(told) + (f"; and {more} more" if more > 0 else "")
