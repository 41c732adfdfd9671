"""The words of a question that forms are made of: names, owners, pronouns, two to choose from."""

from __future__ import annotations

import re
from typing import Final

from secondlook.nodes.follow_up import names

LONGEST: Final = 300
"""Characters. What is longer has no form."""
_LONGEST_NAME: Final = 14
"""Words. What is longer is a sentence of its own."""
_END = re.compile(r"[\s?.!]+\Z")
_OR = re.compile(r",? or (?!\w+ly\b)")
_BETWEEN = re.compile(
    r"(?:between|out of|of) (?P<one>.+?) (?:and|or) (?P<other>.+?),? "
    r"(?P<wh>(?:which|who|what)\b.+)",
    re.IGNORECASE,
)
_AMONG = re.compile(
    r"(?P<wh>(?:which|who|what)\b[^,]*), (?:between )?(?P<options>[^,]+? or [^,]+?),? "
    r"(?P<rest>(?:is|was|were|are|has|have|had|did|does|died|came|won|opened|began) .+)",
    re.IGNORECASE,
)
_EARLY = re.compile(
    r"\b(?P<be>was|were) (?P<when>first|last) (?P<done>\w+(?:ed|ilt|ade|tten|own))\b", re.IGNORECASE
)
_OWNED = re.compile(r"(?P<who>.+?)(?:['\u2019]s|(?<=s)['\u2019]) (?P<what>.+)")
_OF = re.compile(r"(?:the )?\w+ of (?P<who>.+)", re.IGNORECASE)
_HER = re.compile(r"\b(?:her|his|its|their)\b", re.IGNORECASE)
_SHE = re.compile(r"\b(?:she|he|they|it)\b", re.IGNORECASE)
_BEFORE_NAME = re.compile(
    r"(?:(?:the|a|an|both|either|is it|was it|author|actor|film|movie|band|between) )+",
    re.IGNORECASE,
)
_KIND = re.compile(r"\A(?:(?:[a-z]+,? ){2,}|(?!the |an? )[a-z]+ )(?=[A-Z\"\u201c])")
_DETERMINED = re.compile(r"(?:the|a|an|this|that)\b|[A-Z\"\u201c]")


def clean(question: str) -> str:
    """On one line, without its end, and with what there is to choose from at the end."""
    text = _END.sub("", " ".join(question.split()))
    if found := _BETWEEN.fullmatch(text):
        text = f"{found['wh'][:1].upper()}{found['wh'][1:]}, {found['one']} or {found['other']}"
    elif found := _AMONG.fullmatch(text):
        text = f"{found['wh']} {found['rest']}, {found['options']}"
    return _EARLY.sub(lambda at: f"{at['be']} {at['done']} {at['when']}", text)


def named(text: str) -> bool:
    """Whether it names somebody or something, and is not a whole sentence."""
    return len(text.split()) <= _LONGEST_NAME and next(names(text), None) is not None


def options(text: str) -> tuple[str, str] | None:
    """The two names that a question lets choose from; None where they are not just two."""
    both = _OR.split(text.strip(" ,:;-\u2013"))
    if len(both) != 2 or not all(both):  # noqa: PLR2004
        return None
    one, other = (part.strip(" ,:;") for part in both)
    starts = all(_starts_with_name(part) for part in (one, other))
    return (one, other) if starts and "," not in other[:-1] else None


def _starts_with_name(text: str) -> bool:
    rest = _BEFORE_NAME.sub("", text, count=1).lstrip("\"'\u201c\u2018(")
    return bool(rest) and (rest[0].isupper() or rest[0].isdigit())


def possessive(text: str) -> tuple[str, str] | None:
    """ "Beyoncé's birth" as who and what."""
    found = _OWNED.fullmatch(text)
    return (found["who"], found["what"]) if found and named(found["who"]) else None


def owner(text: str) -> str | None:
    """Whose it is: of "Beyoncé's birth", of "the birth of Beyoncé"."""
    if own := possessive(text):
        return own[0]
    found = _OF.fullmatch(text)
    return found["who"] if found and named(found["who"]) else None


def bare(text: str) -> str:
    """Without the kind of thing that it names: "the flowering plants Alisma" is Alisma."""
    whole = text.strip(" ,;:")
    rest = _KIND.sub("", whole, count=1)
    return rest if named(rest) else whole


def subject_of(text: str) -> str | None:
    """The only name in it."""
    found = list(names(text))
    return found[0] if len(found) == 1 else None


def resolved(text: str, who: str) -> str:
    """With the pronouns standing for `who`; "first Grammy" alone is theirs too."""
    owns = f"{who}'" if who.endswith("s") else f"{who}'s"
    if not _DETERMINED.match(text) and not _HER.search(text):
        return f"{owns} {text}"
    return _SHE.sub(who, _HER.sub(owns, text, count=1), count=1)
