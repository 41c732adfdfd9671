"""What tests of the checks share: drafts over the harbour's passages, and nodes visited alone."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from langgraph.runtime import Runtime

from secondlook.nodes.retrieve import rerank, retrieve
from secondlook.nodes.state import Cited, DraftData, Sentence
from tests.support.engine import QUESTION, WordShelf, alike, passages_of, state_of

if TYPE_CHECKING:
    from secondlook.models.chat import ChatRequest
    from secondlook.nodes.context import Context
    from secondlook.reading.port import Reading

PASSAGES = {passage.id: passage for passage in passages_of()}
DEEPEST = "Berth 4 remains the deepest berth, at 7.8 metres."
INVENTED = "Berth 9 was built by Napoleon in 1804."
BLOCK = re.compile(r"<<evidence-\w+ (\d+)>>(.*?)(?=<<)", re.DOTALL)


class SevereShelf(WordShelf):
    """Its reader is as sure as the real one that a text which shares no word with the question
    does not answer it."""

    def read_text(self, query: str, text: str) -> Reading:
        reading = WordShelf.read_text(self, query, text)
        return reading if (alike(query, text) > 0) else replace(reading, span_score=-25.0)


def cited(passage: str, quote: str | None = None) -> Cited:
    """A place of a passage: all of it, or where the quote stands."""
    held = PASSAGES[passage]
    start = held.start + (held.text.index(quote) if quote else 0)
    return Cited(passage=passage, start=start, end=start + len(quote or held.text))


def sentence(
    text: str, *places: Cited, support: float | None = 0.9, supported: bool | None = True
) -> Sentence:
    return Sentence(text=text, cited=list(places), support=support, supported=supported)


def draft(*sentences: Sentence, **changed: Any) -> DraftData:
    made = DraftData(
        method="generative",
        model="ollama:function",
        sentences=list(sentences),
        short=None,
        stop="answered",
        confidence=0.9,
        reasons=[],
        note=None,
    )
    made.update(changed)  # type: ignore[typeddict-item]
    return made


def visit(node: Any, context: Context, **state: Any) -> dict[str, Any]:
    """What the node changes, and under `emitted` what it streamed."""
    emitted: list[Any] = []
    runtime = Runtime(context=context, stream_writer=emitted.append)
    update: dict[str, Any] = asyncio.run(node(state_of(**state), runtime))
    return {**update, "emitted": emitted}


def found(context: Context, question: str = QUESTION) -> list[Any]:
    first = visit(retrieve, context, question=question)["found"]
    read: list[Any] = visit(rerank, context, question=question, found=first)["found"]
    return read


def told(update: dict[str, Any]) -> dict[str, Any]:
    """The numbers of the node's step."""
    (step,) = update["steps"]
    numbers: dict[str, Any] = step["numbers"]
    return numbers


def asked(request: ChatRequest) -> str:
    return request.messages[-1].content


def blocks(request: ChatRequest) -> dict[int, str]:
    """The evidence by number."""
    return {int(number): text.strip() for number, text in BLOCK.findall(asked(request))}
