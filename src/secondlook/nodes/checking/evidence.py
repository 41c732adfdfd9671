"""What stands behind each sentence of a draft, as the library or the web page has it now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from secondlook.nodes import ranking
from secondlook.reading.support import joined_evidence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.context import Context
    from secondlook.passage import Passage
    from secondlook.state import Cited, Sentence


@dataclass(frozen=True, slots=True)
class Backed:
    """A sentence, and the places it cites that are there."""

    sentence: Sentence
    quotes: tuple[tuple[str, str], ...]
    """Title and words of each place."""
    around: tuple[str, ...]
    """The passages that the places lie in."""

    @property
    def text(self) -> str:
        return self.sentence["text"]

    @property
    def evidence(self) -> str:
        return joined_evidence(self.quotes)

    @property
    def complete(self) -> bool:
        """Whether every place that it cites is there."""
        return len(self.quotes) == len(self.sentence["cited"])


async def backed(context: Context, sentences: Sequence[Sentence]) -> list[Backed]:
    wanted = {place["passage"] for sentence in sentences for place in sentence["cited"]}
    held = await ranking.texts(context, sorted(wanted))
    return [_backed(sentence, held) for sentence in sentences]


def _backed(sentence: Sentence, held: Mapping[str, Passage]) -> Backed:
    there = [
        (held[place["passage"]], quote)
        for place in sentence["cited"]
        if place["passage"] in held and (quote := _quote(held[place["passage"]], place))
    ]
    return Backed(
        sentence,
        quotes=tuple((passage.title, quote) for passage, quote in there),
        around=tuple(dict.fromkeys(passage.text for passage, _ in there)),
    )


def _quote(passage: Passage, place: Cited) -> str:
    start, end = place["start"] - passage.start, place["end"] - passage.start
    return passage.text[start:end].strip() if 0 <= start < end else ""
