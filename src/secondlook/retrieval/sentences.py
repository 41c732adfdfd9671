"""Where sentences begin: rules for the scripts people write in, in time linear in the text."""

from __future__ import annotations

import re

# Possessive quantifiers and the look-behind keep a megabyte of dots from being scanned twice.
_END = re.compile(
    r"(?<![.!?…])(?P<mark>[.!?…]++)[\"'”’»)\]]*+\s++"  # noqa: RUF001
    r"|[。！？｡।॥؟۔።։]++[」』）】》”’\"']*+\s*+"  # noqa: RUF001
)

# After these a full stop is part of the word, whatever follows.
_NEVER_LAST = frozenset(
    """mr mrs ms dr prof rev hon st sen rep gov gen col capt lt sgt cmdr pres supt messrs mme mlle
    fig figs eq eqs ref refs sec sect ch chap vol vols no nos nr art arts para cl ed eds trans
    vs v cf viz al approx ca resp incl excl esp est dept univ assn bros inc ltd co corp
    jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun
    bzw usw evtl ggf vgl abb tab bd hrsg str pp p""".split()  # noqa: SIM905
)
_OPENERS = "\"'“‘«([{„¿¡*_#"  # noqa: RUF001
_LONGEST_WORD = 24


def sentence_starts(text: str) -> list[int]:
    """Offset of the first character of every sentence but the first, in order."""
    certain: list[int] = []
    lowercase: list[int] = []
    capitals = 0
    for found in _END.finditer(text):
        at = found.end()
        if at >= len(text):
            break
        if found["mark"] is None:
            certain.append(at)
            continue
        if found["mark"] == "." and _stop_belongs_to_word(text, found.start()):
            continue
        if _first_letter(text, at).islower():
            lowercase.append(at)
        else:
            certain.append(at)
            capitals += 1
    # A text that begins its sentences without capitals is written so throughout.
    if len(lowercase) > capitals:
        return sorted(certain + lowercase)
    return certain


def _first_letter(text: str, at: int) -> str:
    following = text[at : at + 3].lstrip(_OPENERS)
    return following[:1]


def _stop_belongs_to_word(text: str, stop: int) -> bool:
    """Whether the full stop at `stop` marks an abbreviation, an initial or a list number."""
    before = text[max(0, stop - _LONGEST_WORD) : stop]
    if not before or before[-1].isspace():
        return False
    word = before.split()[-1].lstrip(_OPENERS)
    if word.isdigit():
        return len(word) <= 3 and _opens_line(text, stop - len(word))  # noqa: PLR2004
    if word.lower() in _NEVER_LAST:
        return True
    parts = word.split(".")
    if len(parts) > 1:  # e.g, i.e, U.S, Ph.D
        return all(part.isalpha() and len(part) <= 2 for part in parts)  # noqa: PLR2004
    return len(word) == 1 and word.isalpha() and word.isupper()


def _opens_line(text: str, at: int) -> bool:
    line_start = text.rfind("\n", max(0, at - _LONGEST_WORD), at) + 1
    blank = text[line_start:at] if line_start or at <= _LONGEST_WORD else "x"
    return not blank.strip()
