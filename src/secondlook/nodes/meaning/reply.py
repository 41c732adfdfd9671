"""A short reply to a question back: the unclear question as it reads with what was named."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from secondlook.nodes.follow_up import names
from secondlook.nodes.meaning.resolving import with_meaning
from secondlook.nodes.meaning.rivals import Rival
from secondlook.nodes.meaning.unclear import unresolved

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.nodes.stand_alone import Turn

_LONGEST = 60
"""Characters. What is longer is no name."""
_OPENING = re.compile(
    r"(?:(?:sorry|ok|okay|yes|no|well)\b[, ]*)*"
    r"(?:i\s+(?:mean|meant)|it['\u2019]?s|that['\u2019]?s|that\s+is|it\s+is)?\s*",
    re.IGNORECASE,
)
_CLOSING = re.compile(r"(?:,?\s*(?:please|of course))?[\s?.!]*\Z", re.IGNORECASE)
_PLACES = {
    "1": 0, "first": 0, "former": 0,
    "2": 1, "second": 1,
    "3": 2, "third": 2,
    "4": 3, "fourth": 3,
    "latter": -1, "last": -1,
}  # fmt: skip
_PLACE = re.compile(rf"(?:the\s+)?({'|'.join(_PLACES)})(?:\s+one)?", re.IGNORECASE)
_NO_NAMES = frozenset({
    "all", "both", "cancel", "either", "hello", "help", "hi", "neither", "never", "nobody", "none",
    "nothing", "stop", "thank", "thanks", "who", "what", "when", "where", "why", "which", "how",
    "whose", "whom",
})  # fmt: skip


def reading(reply: str, last: Turn) -> str | None:
    """The question of the turn before in the reading that the reply names; None where it names
    none, or nothing was asked back."""
    unclear = unresolved(last.asked) if last.asks_back else None
    if unclear is None or len(reply) > _LONGEST:
        return None
    said = _CLOSING.sub("", _OPENING.sub("", reply.strip(), count=1))
    meant = _chosen(said, _offered(last.asks_back or "")) or _named(said)
    return with_meaning(last.asked, unclear, Rival(meant, 1.0, ())) if meant else None


def _offered(asks_back: str) -> list[str]:
    """The names of "... do you mean: A, B or C?"."""
    listed = asks_back.partition(": ")[2].rstrip("?")
    return re.split(r", | or ", listed) if listed else []


def _chosen(said: str, offered: Sequence[str]) -> str | None:
    """By its place, or by words that only one of them has."""
    if place := _PLACE.fullmatch(said):
        at = _PLACES[place[1].casefold()]
        return offered[at] if at < len(offered) and offered else None
    words = _words(said)
    fitting = [name for name in offered if words and words <= _words(name)]
    return fitting[0] if len(fitting) == 1 else None


def _words(text: str) -> set[str]:
    """Without accents and articles: whoever replies in a hurry leaves them out."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    bare = "".join(sign for sign in plain if not unicodedata.combining(sign))
    return set(re.findall(r"\w+", bare)) - {"the"}


def _named(said: str) -> str | None:
    """A name that was not among those offered, and nothing else."""
    bare = re.sub(r"\Athe\s+", "", said, flags=re.IGNORECASE)
    whole = list(names(bare)) == [bare]
    return said if whole and not _words(bare) & _NO_NAMES else None
