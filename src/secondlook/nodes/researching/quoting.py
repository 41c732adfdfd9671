"""The findings of a step without a model: the sentences in which the reader sees an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.nodes import ranking
from secondlook.nodes.extract import extract, withheld
from secondlook.nodes.places import sentence_around
from secondlook.state import Cited, DraftData, Found, Sentence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.context import Context
    from secondlook.passage import Passage

_QUOTES = 3
_ENDS = (".", "!", "?", ";", ":", '"', ")")
_SENTENCE_WORDS = 8


async def quoted(context: Context, question: str, kept: Sequence[Found]) -> DraftData:
    """The reader's answer first, where it is sure of one; then what else bears on the question."""
    if not kept:
        return withheld("no_evidence", reasons=["nothing was found"])
    sure = await extract(context, question, kept)
    about = [item for item in kept if _bears(context, item)]
    held = await ranking.texts(context, [item["id"] for item in about])
    every = [_quote(item, held[item["id"]]) for item in about if item["id"] in held]
    quotes = [quote for quote in every if _says_something(quote["text"])]
    sentences = _once([*sure["sentences"], *quotes])[:_QUOTES]
    if not sentences:
        return sure
    reasons = sure["reasons"] if sure["sentences"] else ["the passages bear on it"]
    return {
        **sure,
        "method": "extractive",
        "sentences": sentences,
        "stop": "answered",
        "reasons": reasons,
    }


def _bears(context: Context, item: Found) -> bool:
    relevance, span = item["relevance"], item["span_end"]
    return relevance is not None and span is not None and relevance > context.calibration.min_about


def _quote(item: Found, passage: Passage) -> Sentence:
    length = len(passage.text)
    first = min(max(item["span_start"] or 0, 0), length)
    last = min(max(item["span_end"] or 0, first), length)
    start, end = sentence_around(passage.text, first, last)
    return Sentence(
        text=" ".join(passage.text[start:end].split()),
        cited=[Cited(passage=passage.id, start=passage.start + start, end=passage.start + end)],
        support=1.0,
        supported=True,
    )


def _says_something(text: str) -> bool:
    """A heading is no finding."""
    return text.endswith(_ENDS) or len(text.split()) >= _SENTENCE_WORDS


def _once(sentences: Sequence[Sentence]) -> list[Sentence]:
    return list({one["text"]: one for one in reversed(sentences) if one["text"]}.values())[::-1]
