"""Words as Markdown that stands for itself: strangers' text never becomes a link, an image, a
heading or HTML of theirs."""

from __future__ import annotations

import re
from urllib.parse import quote as percent_encoded
from urllib.parse import urlsplit

_SPECIAL = re.compile(
    r"[\\`*_\[\]<>#|~$@]"
    r"|:(?=//|[a-z_+-]{1,40}:)"  # bare addresses, :smile:
    r"|&(?=#?\w{1,32};)"  # entities
    r"|(?<=\bwww)\.",
    re.IGNORECASE,
)
_LINE_OPENER = re.compile(r"^([-+=]|\d{1,9}[.)])(?=\s|[-=]|$)", re.MULTILINE)
_CONTROL = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
"""Control characters, and those that turn the direction of writing."""
_SAFE_SCHEMES = frozenset({"http", "https"})
_URL_SIGNS = "/:?#@!$&'*+,;=%~-._"


def link(url: str) -> str:
    """Only addresses of the web become links; `javascript:` and the like stay words."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return flat(url)
    if parts.scheme.lower() not in _SAFE_SCHEMES or not parts.netloc:
        return flat(url)
    return f"<{percent_encoded(_CONTROL.sub('', url), safe=_URL_SIGNS)}>"


def quoted(quote: str) -> str:
    """A block quote of plain words; lines stay lines, so that tables can be read."""
    lines = [line for line in words(quote).split("\n") if line]
    return "\n".join(f"> {line}  " for line in lines).rstrip() or "> (nothing)"


def flat(text: str) -> str:
    return " ".join(words(text).split())


def words(text: str) -> str:
    """Text whose every sign stands for itself in Markdown; lines stay lines."""
    lines = _CONTROL.sub("", "\n".join(text.splitlines())).split("\n")
    plain = _SPECIAL.sub(r"\\\g<0>", "\n".join(line.strip() for line in lines))
    return _LINE_OPENER.sub(_harmless_opener, plain)


def _harmless_opener(found: re.Match[str]) -> str:
    """A line that begins like a list, a rule or an underline begins like words."""
    return f"{found[1][:-1]}\\{found[1][-1]}"


def code(text: str) -> str:
    """Names and paths exactly, in a fence that they cannot break."""
    flat = " ".join(_CONTROL.sub("", text).split())
    longest = max((len(run) for run in re.findall(r"`+", flat)), default=0)
    fence = "`" * (longest + 1)
    space = " " if flat.startswith("`") or flat.endswith("`") or not flat else ""
    return f"{fence}{space}{flat}{space}{fence}"
