"""A model on loopback that answers every prompt of every workflow, by what it is sent alone. What
it says depends on the body and nothing else: whoever sends the same is told the same. Some bodies
it answers with nonsense, so that corrections are asked for: nothing, prose where an object was
asked for, or an object of another form. It takes its time, at random."""

import hashlib
import json
import random
import re
import time
from dataclasses import dataclass
from typing import Any

from tests.support.chat_server import Body, ChatServer, Said

_SENTENCE = re.compile(r"[A-Z][^.\n<>]{20,200}\.")
_NONSENSE = ("   ", "I would rather not say.", '{"unheard_of": 1}', '{"half of')
_PORT = re.compile(r"(?<=127\.0\.0\.1):\d+")
"""Of a page on loopback: another one each time."""
_QUESTION = re.compile(r"(?:Question|question): (.+)")


_SLOWEST = 0.02
"""Seconds that a reply takes at most."""
_UNUSABLE = 0.3
"""Share of the replies that cannot be used."""


@dataclass
class Scripted:
    code: str
    """What it writes where code is asked for."""
    salt: str = ""
    """Another one makes other bodies be answered with nonsense."""

    def served(self) -> ChatServer:
        return ChatServer(self.reply, facts={"/v1/models": {"data": [{"id": "scripted"}]}})

    def reply(self, body: Body) -> Said:
        text = self.said(body)
        time.sleep(random.uniform(0, _SLOWEST))
        half = len(text) // 2
        return Said([text[:half], text[half:]], tokens_in=50, tokens_out=len(text) // 4 + 1)

    def said(self, body: Body) -> str:
        messages = _PORT.sub("", self.salt + json.dumps(body["messages"], sort_keys=True))
        pick = random.Random(hashlib.sha256(messages.encode()).digest())
        prompt = "\n".join(message["content"] for message in body["messages"])
        schema = _schema(body)
        if pick.random() < _UNUSABLE:
            return "   " if schema is None else pick.choice(_NONSENSE)
        if schema is not None:
            return json.dumps(_filled(schema, schema.get("$defs", {}), prompt, pick))
        if "Reply with the code only" in prompt:
            return self.code
        sentences = _SENTENCE.findall(body["messages"][-1]["content"]) or ["Nothing is known."]
        return f"{pick.choice(sentences)} [1]"


def _schema(body: Body) -> dict[str, Any] | None:
    form = body.get("response_format") or {}
    if form.get("type") == "json_schema":
        return dict(form["json_schema"]["schema"])
    found = re.search(
        r"\{\"(?:\$defs|properties|description|title)\".*\}", str(body["messages"][-1]["content"])
    )
    try:
        return json.loads(found.group()) if found else None
    except ValueError:
        return None


def _filled(schema: Any, known: dict[str, Any], prompt: str, pick: random.Random) -> Any:  # noqa: C901, PLR0911
    if "$ref" in schema:
        return _filled(known[schema["$ref"].rpartition("/")[2]], known, prompt, pick)
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return _filled(pick.choice(schema[several]), known, prompt, pick)
    if "enum" in schema:
        return pick.choice(schema["enum"])
    if "const" in schema:
        return schema["const"]
    match schema.get("type"):
        case "object":
            fields = schema.get("properties", {})
            return {name: _filled(one, known, prompt, pick) for name, one in fields.items()}
        case "array":
            many = max(schema.get("minItems", 1), 1)
            return [_filled(schema.get("items", {}), known, prompt, pick) for _ in range(many)]
        case "integer":
            return pick.randint(schema.get("minimum", 1), schema.get("maximum", 3))
        case "number":
            return round(pick.uniform(schema.get("minimum", 0), schema.get("maximum", 1)), 2)
        case "boolean":
            return pick.random() < 0.7
        case "null":
            return None
    asked = _QUESTION.findall(prompt)
    return (asked[-1] if asked else "What is said of it?")[: schema.get("maxLength", 200)]
