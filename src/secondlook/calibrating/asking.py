"""A question whose answer is a piece of a sentence, worded by rule.

"The dome was finished in 1879 after a long dispute." becomes "When was the dome finished?". Where
no rule is safe the sentence stays as it is with a question word in the gap: "In 1998 the board
approved what?". A person seldom repeats a document's words, so clauses that do not matter are
dropped or moved and plain words are exchanged for others of the same meaning.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

    from secondlook.calibrating.pieces import Piece

GAP = "\x00"
_OFTEN, _HALF = 0.75, 0.5
_FEWEST_WORDS, _MOST_WORDS = 4, 30
_ASIDE = re.compile(r"\s*\([^()\x00]*\)")
_EMPTY = re.compile(r"\(\s*\)|\"\s*\"|\u201c\s*\u201d")
"""What is left of brackets and quotation marks around the gap."""
_TRAILING = re.compile(
    r"(?:, (?:which|who|where|while|although|whereas|including|such as|and|but|with|as)|;)"
    r" [^\x00]+(?=\.$)"
)
_LEADING = re.compile(
    r"((?:In|On|At|By|During|After|Before|Since|From|Under|Until|For|Within|Throughout|Following|"
    r"Despite|Although|When|While|As|According|However|Moreover|Furthermore|Additionally|"
    r"Nevertheless|Today|Later|Finally|Instead|Meanwhile|Similarly)\b[^,\x00]{0,70}), (?=\S)"
)
_LEADING_GAP = re.compile(r"(In|On|At|Near) \x00(, | )(the [^\x00]*|[A-Z][^\x00]*)\.")
_CONNECTOR = re.compile(r"\w+|According .*|As .*|For (?:example|instance)|In (?:addition|contrast)")
_AUXILIARIES = "is|was|are|were|has|have|had|can|could|will|would|should|may|might|must"
_INVERTIBLE = re.compile(rf"([^,;:\x00]{{2,70}}?) ({_AUXILIARIES}) (not )?([^;:]*\x00[^;:]*)\.")
_NEEDS_PARTICIPLE = frozenset(("has", "have", "had"))
_PARTICIPLE = re.compile(
    r"(?:\w+ly )?(?:\w+ed|been|become|made|taken|given|found|held|led|won|lost|built|written|"
    r"said|grown|shown|known|seen|had|kept|left|met|paid|sold|bought|begun|chosen|drawn)\b"
)
_SUBORDINATE = re.compile(r"\b(?:that|which|who|when|where|if|because|while|whether|how|what)\b")
_LONGEST_SUBJECT = 9
_FOLLOWING_NOUN = re.compile(
    r"\x00 (?!(?:and|or|in|of|to|by|for|with|at|on|as|the|is|was|has)\b)"
    r"((?:[a-z]+ )?[a-z]{3,}s|people|percent|per cent)\b"
)
_PLACED = re.compile(r"\b(in|at|near|on|since|until|by)\s+\x00")
_WHEN = frozenset(("in", "on"))
_WHERE = frozenset(("in", "at", "near"))
_NO_PERSON = re.compile(
    r"\b(?:University|Company|Council|River|Church|Party|Act|War|Army|School|Street|Bay|Island|"
    r"Lake|Mountain|City|County|State|States|Union|Empire|Museum|Society|Institute|Court|Bank|"
    r"Board|Committee|House|Park|Kingdom|Republic|Treaty|Theatre|Group|of)\b"
)
_SAME_MEANING = {
    "approximately": "about",
    "located": "situated",
    "began": "started",
    "constructed": "built",
    "built": "constructed",
    "purchased": "bought",
    "finished": "completed",
    "completed": "finished",
    "large": "big",
    "numerous": "many",
    "founded": "established",
    "established": "founded",
    "created": "made",
    "led": "brought",
    "received": "got",
    "required": "needed",
    "became": "turned into",
    "often": "frequently",
    "because of": "due to",
    "however": "",
    "also": "",
    "then": "",
    "very": "",
    "usually": "normally",
    "throughout": "all over",
    "died": "passed away",
    "near": "close to",
    "under": "below",
    "several": "some",
    "main": "chief",
    "used": "employed",
    "shows": "displays",
    "occurred": "happened",
    "remained": "stayed",
    "designed": "planned",
    "cost": "price",
    "quickly": "fast",
}
_WORDS = re.compile(rf"\b(?:{'|'.join(sorted(_SAME_MEANING, key=len, reverse=True))})\b")
_COMMON_OPENERS = frozenset(
    "the a an all most many some several each every no more few both in on at by for".split()  # noqa: SIM905
)


def question_about(sentence: str, piece: Piece, draw: Random) -> str | None:
    """The question; None where none can be made that is a fair one."""
    gapped = sentence[: piece.start] + GAP + sentence[piece.end :]
    gapped = _shortened(gapped, draw)
    asked = _inverted(gapped, piece) or _in_place(gapped, piece)
    asked = _reworded(asked, draw)
    asked = _EMPTY.sub("", asked)
    asked = re.sub(r"\s+([,.?])", r"\1", " ".join(asked.split()))
    asked = asked[0].upper() + asked[1:]
    return asked if _is_fair(asked, piece) else None


def _is_fair(asked: str, piece: Piece) -> bool:
    words = asked.split()
    return _FEWEST_WORDS <= len(words) <= _MOST_WORDS and (
        re.search(rf"\b{re.escape(piece.text)}\b", asked, re.IGNORECASE) is None
    )


def _shortened(gapped: str, draw: Random) -> str:
    """Without what stands in brackets, and mostly without a clause at its end or beginning."""
    text = _ASIDE.sub("", gapped)
    text = _LEADING_GAP.sub(
        lambda found: f"{found[3][0].upper()}{found[3][1:]} {found[1].lower()} {GAP}.", text
    )
    if draw.random() < _OFTEN:
        text = _TRAILING.sub("", text)
    leading = _LEADING.match(text)
    if not leading:
        return text
    rest = text[leading.end() :]
    rest = rest[0].upper() + rest[1:]
    said = leading[1]
    if _CONNECTOR.fullmatch(said) or draw.random() < _HALF:
        return rest
    return f"{rest.removesuffix('.')} {said[0].lower()}{said[1:]}."


def _inverted(gapped: str, piece: Piece) -> str | None:
    """The question word first, then the auxiliary, then the subject."""
    found = _INVERTIBLE.fullmatch(gapped)
    if not found:
        return None
    subject, auxiliary, denied, rest = found[1], found[2], found[3] or "", found[4]
    if len(subject.split()) > _LONGEST_SUBJECT or _SUBORDINATE.search(subject):
        return None
    if auxiliary in _NEEDS_PARTICIPLE and not _PARTICIPLE.match(rest):
        return None
    if re.search(r" and |,", rest.partition(GAP)[0]):  # a second clause may have its own verb
        return None
    word, rest = _question_word(rest, piece)
    return f"{word} {auxiliary} {_lowered(subject)} {denied}{rest.replace(GAP, '')}?"


def _in_place(gapped: str, piece: Piece) -> str:
    """The question word in the gap; where the gap comes first this is a question by itself."""
    body = gapped.removesuffix(".")
    if body.startswith(GAP):
        word, rest = _question_word(body, piece)
        return f"{word} {rest.replace(GAP, '')}?"
    noun = _FOLLOWING_NOUN.search(body)
    if piece.kind == "number" and noun:
        return f"{body.replace(GAP, 'how many')}?"
    if piece.kind in {"year", "date"} and piece.before in _WHEN:
        return f"{_PLACED.sub('when', body).replace(GAP, 'when')}?"
    return f"{body.replace(GAP, _plain_word(piece))}?"


def _question_word(rest: str, piece: Piece) -> tuple[str, str]:
    """What to ask with, and what is left of the rest of the sentence."""
    noun = _FOLLOWING_NOUN.search(rest)
    if piece.kind == "number" and noun:
        return f"How many {noun[1]}", rest[: noun.start()] + GAP + rest[noun.end() :]
    if piece.kind in {"year", "date"} and piece.before in _WHEN:
        return "When", _PLACED.sub(GAP, rest)
    if piece.kind == "name" and piece.before in _WHERE and not _is_person(piece):
        return "Where", _PLACED.sub(GAP, rest)
    return _plain_word(piece).capitalize(), rest


def _plain_word(piece: Piece) -> str:
    if piece.kind == "year":
        return "what year"
    if piece.kind == "date":
        return "what date"
    if piece.kind == "number":
        return "what number"
    return "who" if piece.kind == "name" and _is_person(piece) else "what"


def _is_person(piece: Piece) -> bool:
    """As far as the form tells: two or three names in a row, without an article before them."""
    words = piece.text.split()
    return (
        len(words) in {2, 3}
        and words[0][0].isupper()
        and piece.before not in {"the", "a", "an", "in", "at", "near", "from", "of"}
        and not piece.text.isupper()
        and not _NO_PERSON.search(piece.text)
    )


def _lowered(subject: str) -> str:
    first = subject.partition(" ")[0]
    return subject[0].lower() + subject[1:] if first.lower() in _COMMON_OPENERS else subject


def _reworded(asked: str, draw: Random) -> str:
    def other(found: re.Match[str]) -> str:
        return _SAME_MEANING[found[0]] if draw.random() < _HALF else found[0]

    return _WORDS.sub(other, asked)
