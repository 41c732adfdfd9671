"""Numbers and other people's texts in a sentence."""

from __future__ import annotations

LONGEST_VALUE = 40
FEW, NEARLY_ALL = 0.01, 0.99


def percent(share: float) -> str:
    if 0 < share < FEW:
        return "<1 %"
    if NEARLY_ALL < share < 1:
        return ">99 %"
    return f"{100 * share:.0f} %"


def quoted(text: str) -> str:
    """As a Python literal, cut: one line, whatever is in it."""
    return repr(cut(text, LONGEST_VALUE))


def single_line(text: str, longest: int) -> str:
    """Without quotes around it. Control characters and line breaks are blanks."""
    shown = "".join(character if character.isprintable() else " " for character in text)
    return cut(" ".join(shown.split()), longest)


def cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
