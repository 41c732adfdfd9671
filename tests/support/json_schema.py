"""Checks a value against a JSON schema, for the keywords that ours uses; others are refused."""

from __future__ import annotations

from typing import Any

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_SAYS_NOTHING = {"title", "description", "default", "$defs"}
_KNOWN = _SAYS_NOTHING | {
    *("$ref", "type", "anyOf", "enum", "required", "properties", "additionalProperties"),
    *("items", "minimum", "maximum"),
}


def mistakes(
    value: Any, schema: dict[str, Any], root: dict[str, Any], where: str = "$"
) -> list[str]:
    """Where and how a value departs from the schema."""
    assert schema.keys() <= _KNOWN, schema.keys() - _KNOWN
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/$defs/")
        return mistakes(value, root["$defs"][name], root, where)
    if "anyOf" in schema:
        tried = [mistakes(value, one, root, where) for one in schema["anyOf"]]
        return [] if [] in tried else [f"{where}: fits none"]
    found = _plain_mistakes(value, schema, where)
    if isinstance(value, dict):
        found += _object_mistakes(value, schema, root, where)
    if isinstance(value, list):
        items = schema.get("items", {})
        for at, item in enumerate(value):
            found += mistakes(item, items, root, f"{where}[{at}]")
    return found


def _plain_mistakes(value: Any, schema: dict[str, Any], where: str) -> list[str]:
    found = []
    wanted = schema.get("type")
    is_bool = isinstance(value, bool)
    if wanted and (not isinstance(value, _TYPES[wanted]) or (is_bool and wanted != "boolean")):
        found.append(f"{where}: {value!r} is no {wanted}")
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{where}: {value!r} is not one of {schema['enum']}")
    low, high = schema.get("minimum", value), schema.get("maximum", value)
    if isinstance(value, int | float) and not low <= value <= high:
        found.append(f"{where}: {value!r} is out of range")
    return found


def _object_mistakes(
    value: dict[str, Any], schema: dict[str, Any], root: dict[str, Any], where: str
) -> list[str]:
    known = schema.get("properties", {})
    other = schema.get("additionalProperties", True)
    found = [
        f"{where}: {name} is missing" for name in schema.get("required", ()) if name not in value
    ]
    for name, inner in value.items():
        if name in known:
            found += mistakes(inner, known[name], root, f"{where}.{name}")
        elif other is False:
            found.append(f"{where}: {name} is unknown")
        elif isinstance(other, dict):
            found += mistakes(inner, other, root, f"{where}.{name}")
    return found
