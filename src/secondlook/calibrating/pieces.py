"""What in a sentence can be asked for, or exchanged: names, numbers, dates and noun phrases, told
by their form alone. English only: the rules know its articles, months and capital letters."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from secondlook.retrieval.stopwords import STOP_WORDS

Kind = Literal["name", "year", "date", "number", "phrase"]

MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_DAYS = "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday"
_COUNTS = "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty"
_CAPITALISED = r"[A-Z][\w&]*(?:[-'\u2019.][A-Za-z]\w*)*"
_FORMS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    (
        "date",
        re.compile(
            rf"\b(?:\d{{1,2}} (?:{MONTHS})(?:,? \d{{4}})?|(?:{MONTHS}) \d{{1,2}}(?:, \d{{4}})?"
            rf"|(?:{MONTHS}) \d{{4}})\b"
        ),
    ),
    ("year", re.compile(r"(?<![\w.,/$£€\u2013-])(?:1[0-9]|20)\d\d(?![\w/%\u2013-]|[.,]\d)")),
    (
        "number",
        re.compile(
            r"(?<![\w.,:/\u2013-])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![\w/:\u2013-]|[.,]\d)"
            rf"|(?<![\w-])(?:{_COUNTS})(?![\w-])"
        ),
    ),
    (
        "name",
        re.compile(
            rf"(?<![\w'\u2019-]){_CAPITALISED}(?:(?: (?:of|of the|de|van|von))? {_CAPITALISED})*"
        ),
    ),
    (
        "phrase",
        re.compile(
            r"(?<=\b)(?:the|a|an) (?:[a-z][a-z-]+ ){0,2}[a-z][a-z-]{3,}"
            r"(?= (?:in|on|at|by|for|with|from|to|and|that|which|as|when|after|before|during)\b"
            r"|[,.]|$)"
        ),
    ),
)
_NO_NAME = re.compile(rf"(?:.* )?(?:{MONTHS}|{_DAYS}|Mr|Mrs|Ms|Dr|St|Inc|Ltd|Co)\.?(?: .*)?|\w")
_OPENERS = STOP_WORDS["english"] | {"however", "according", "although", "since", "within"}

_FUNCTION = frozenset(
    (
        *("near", "since", "until", "called", "named", "within", "across", "along", "toward"),
        *("towards", "against", "among", "around", "became", "held", "made", "took", "won", "led"),
        *("wrote", "built", "began", "gave", "said", "found", "met", "sold", "bought", "lost"),
        *("outside", "inside", "beyond", "via", "upon", "like", "including", "without", "per"),
    )
)
"""Words that a name stands beside without belonging to them."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text, where it stands, and the word before it in lower case."""

    start: int
    end: int
    text: str
    kind: Kind
    before: str


def pieces(text: str) -> list[Piece]:
    """In the order of the text; none overlaps another, dates come before the numbers in them."""
    found: list[Piece] = []
    for kind, form in _FORMS:
        for match in form.finditer(text):
            piece = _piece(text, match, kind)
            if piece and not any(piece.start < one.end and one.start < piece.end for one in found):
                found.append(piece)
    return sorted(found, key=lambda piece: piece.start)


def askable(text: str) -> list[Piece]:
    """Those pieces that are a whole answer: no part of a list, of a longer name or of "the French
    fleet". A name behind "the" is asked for together with its article."""
    return [_with_article(text, piece) for piece in pieces(text) if _is_whole(text, piece)]


def _is_whole(text: str, piece: Piece) -> bool:
    before, after = text[: piece.start], text[piece.end :]
    if before.count("(") > before.count(")"):
        return False
    if piece.kind in {"number", "year"}:
        return not re.match(rf" (?:to|and|or) (?:\d|{_COUNTS})|[-\u2013]", after) and not re.search(
            rf"(?:\d|{_COUNTS}) (?:to|and|or) $", before
        )
    if re.match(r",? (?:and |or )?[A-Z]|['\u2019]s?\b| (?:and|or) ", after) or re.search(
        r"[A-Z]\w*,? (?:and |or )?$|\b(?:and|or) $|['\u2019]s $", before
    ):
        return False
    return piece.kind != "name" or (_stands_free(piece.before) and _goes_on(after))


def _goes_on(after: str) -> bool:
    """Whether what follows a name is no noun that the name belongs to."""
    word = re.match(r" ([a-z][\w-]*)", after)
    return word is None or word[1] in _OPENERS or word[1] in _FUNCTION or word[1].endswith("ed")


def _stands_free(word: str) -> bool:
    return not word or word in _OPENERS or word in _FUNCTION or word.endswith("ed")


def _with_article(text: str, piece: Piece) -> Piece:
    if piece.kind != "name" or piece.before != "the":
        return piece
    start = text.casefold().rindex("the", 0, piece.start)
    return Piece(start, piece.end, text[start : piece.end], "name", _word_before(text, start))


def _piece(text: str, match: re.Match[str], kind: Kind) -> Piece | None:
    start, said = match.start(), match[0]
    if kind == "name":
        named = _name(text, start, said)
        if named is None:
            return None
        start, said = named
    return Piece(start, start + len(said), said, kind, _word_before(text, start))


def _name(text: str, start: int, said: str) -> tuple[int, str] | None:
    """Without what is capitalised only because a sentence begins there."""
    first, _, rest = said.partition(" ")
    opens = not text[:start].strip("\"'“‘( ")  # noqa: RUF001
    if first.casefold() in _OPENERS and len(first) > 1:
        start, said, opens = start + len(first) + 1, rest, False
    said = re.sub(r"['\u2019]s?$", "", said).rstrip(".")
    if not said or "'s " in said or "\u2019s " in said or _NO_NAME.fullmatch(said):
        return None
    # One capitalised word at the start may be any word.
    return None if opens and " " not in said and not said.isupper() else (start, said)


def _word_before(text: str, at: int) -> str:
    words = text[max(0, at - 40) : at].split()
    return words[-1].casefold().strip("(\"'“,") if words else ""
