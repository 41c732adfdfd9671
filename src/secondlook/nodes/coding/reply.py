"""The code in what a model replied.

Models put it into fences, into JSON or between prose; they show it twice, or stop in the middle.
What was cut off is not completed: it will not parse, and the model is told so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from secondlook.models.jsonlike import objects
from secondlook.models.thinking import without_thoughts
from secondlook.nodes.coding.parsing import does_something, is_python
from secondlook.nodes.coding.tidying import tidied

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_LONGEST = 200_000
_KEYS: Final = ("code", "python", "python_code", "script", "program")
_FENCE = re.compile(
    r"^[ \t]{0,12}(?:>[ \t]?)?(?P<mark>`{3,}|~{3,})[ \t]*"
    r"\{?\.?(?P<language>[A-Za-z0-9_+#-]{0,20})\}?(?P<rest>[^\n]*)$"
)
_PYTHON: Final = frozenset(
    {"python", "py", "python3", "py3", "ipython", "ipython3", "jupyter", "pycon", "tool_code"}
)
_TITLE = re.compile(r"(?:title|file|filename|name|id|label|caption|linenums|highlight)\s*=")
_TAGGED = re.compile(
    r"<(?P<tag>code|python|execute|script)>(?P<code>.*?)(?:</(?P=tag)>|\Z)", re.DOTALL
)
_CODE_LINE = re.compile(
    r"^(?:import\s+[\w.]|from\s+[\w.]+\s+import\b|def\s+\w+\s*\(|class\s+\w+\s*[(:]"
    r"|(?:for|while|if|with|try|elif|else|except|finally)\b[^.!?]*:\s*(?:#.*)?$"
    r"|[A-Za-z_][\w.]*(?:\[[^\]]*\])*(?:\s*,\s*[A-Za-z_]\w*)*\s*(?:[-+*/|&]|//|\*\*)?=(?!=)\s*\S"
    r"|[A-Za-z_][\w.]*\(.*|@\w|>>>|%\w|!\w)"
)
_CLOSING_LINES = 40
"""Lines after what looks like code that may still close its brackets."""
_PROSE_WORDS = 3
_PROSE = re.compile(r"^(?:[-*\u2022]|\d+[.)])?\s*(?:\*\*)?[A-Za-z][\w'\u2019-]*(?:[ ,:][^=(\[]*)?")


@dataclass(frozen=True, slots=True)
class _Block:
    language: str
    text: str


def code_of(reply: str) -> str:
    """Empty where there is none."""
    reply = without_thoughts(reply[:_LONGEST])
    if (given := _in_json(reply)) is not None:
        return given
    blocks = list(_fenced(reply))
    if blocks:
        return _joined(_pythonic(blocks))
    if tagged := [found["code"] for found in _TAGGED.finditer(reply)]:
        return _joined(tagged)
    return _unfenced(reply)


def _in_json(reply: str) -> str | None:
    """The code of `{"code": "..."}`, also in a fence of its own."""
    begun = reply.strip().lstrip("`~").removeprefix("json").lstrip()
    if not begun.startswith("{"):
        return None
    for found in objects(reply):
        for key in _KEYS:
            if isinstance(code := found.get(key), str):
                return code_of(code) if "```" in code else tidied(code)
    return None


def _fenced(reply: str) -> Iterator[_Block]:
    """Every fenced block; the last may lack its end, and so may one before another opens."""
    inside: re.Match[str] | None = None
    lines: list[str] = []
    for line in reply.replace("\r\n", "\n").split("\n"):
        mark = _FENCE.match(line)
        if inside is not None and _closes(line, inside["mark"]):
            before = line.rstrip().removesuffix(inside["mark"])
            yield _Block(inside["language"].lower(), "\n".join([*lines, before]))
            inside = None
        elif mark is not None and (inside is None or mark["mark"] == inside["mark"]):
            if inside is not None:
                yield _Block(inside["language"].lower(), "\n".join(lines))
            whole = _on_one_line(mark)
            if whole is not None:
                yield _Block(mark["language"].lower(), whole)
            inside, lines = (mark, _opened(mark)) if whole is None else (None, [])
        elif inside is not None:
            lines.append(line)
    if inside is not None:
        yield _Block(inside["language"].lower(), "\n".join(lines))


def _opened(mark: re.Match[str]) -> list[str]:
    """Code that begins on the line of the fence; a title after the language is none."""
    rest = mark["rest"].strip()
    return [rest] if _CODE_LINE.match(rest) and not _TITLE.match(rest) else []


def _on_one_line(mark: re.Match[str]) -> str | None:
    rest = mark["rest"].rstrip()
    return rest.removesuffix(mark["mark"]) if rest.endswith(mark["mark"]) else None


def _closes(line: str, mark: str) -> bool:
    bare = line.strip().removeprefix(">").strip()
    return (bare.startswith(mark) and not bare.strip(mark[0])) or (
        line.rstrip().endswith(mark) and not bare.startswith(mark)
    )


def _pythonic(blocks: Sequence[_Block]) -> list[str]:
    """Those said to be Python; else those that are, whatever they are called."""
    named = [block.text for block in blocks if block.language in _PYTHON]
    if any(does_something(tidied(text)) for text in named):
        return named
    bare = [block.text for block in blocks if not block.language]
    meant = [text for text in bare if does_something(tidied(text))]
    return meant or named or bare[:1] or _misnamed(blocks)


def _misnamed(blocks: Sequence[_Block]) -> list[str]:
    """Code under another language's name, where it is Python all the same."""
    return [block.text for block in blocks if does_something(tidied(block.text))]


def _joined(texts: Sequence[str]) -> str:
    """In order; what is shown again is taken once, in its longest form."""
    kept: list[str] = []
    for code in map(tidied, texts):
        if not code or any(_holds(other, code) for other in kept):
            continue
        kept = [other for other in kept if not _holds(code, other)] + [code]
    return "\n\n".join(kept)


def _holds(longer: str, shorter: str) -> bool:
    """Whether all statements of one stand in the other, in their order."""
    at = 0
    wanted = _statements(shorter)
    for line in _statements(longer):
        at += at < len(wanted) and line == wanted[at]
    return at == len(wanted)


def _statements(code: str) -> list[str]:
    stripped = (line.strip() for line in code.split("\n"))
    return [line for line in stripped if line and not line.startswith("#")]


def _unfenced(reply: str) -> str:
    whole = tidied(reply)
    if is_python(whole):
        return whole if does_something(whole) else ""
    lines = reply.replace("\r\n", "\n").strip("\n").split("\n")
    code = [at for at, line in enumerate(lines) if _CODE_LINE.match(line.strip())]
    if not code:
        return ""
    return _between(lines[code[0] :], code[-1] - code[0])


def _between(lines: Sequence[str], last: int) -> str:
    """From the first line of code on: to the first end after the last one that makes it Python."""
    for end in range(last + 1, min(len(lines), last + _CLOSING_LINES) + 1):
        if is_python(whole := tidied("\n".join(lines[:end]))):
            return whole
    without_prose = [line for line in lines[: last + 1] if not _is_prose(line)]
    return tidied("\n".join(without_prose))


def _is_prose(line: str) -> bool:
    """A sentence at the margin, not code and not a comment."""
    if line[:1].isspace() or _CODE_LINE.match(line) or line.startswith("#"):
        return False
    return len(line.split()) >= _PROSE_WORDS and _PROSE.fullmatch(line.strip()) is not None
