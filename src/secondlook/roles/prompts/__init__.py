"""What models are told: one file per node, and the marks that keep data apart from it.

`answer.md` and its neighbours are front matter and messages with `$name` holes. `docs/models.md`
says how to write one.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Literal, cast, get_args

from secondlook.errors import UsageError
from secondlook.models.chat import Message, Role
from secondlook.roles.prompts.marks import (
    is_wrapped,
    without_control_marks,
    without_evidence_marks,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

NOT_FOUND = "NOT IN THE EVIDENCE"
"""What a model is told to reply, word for word, where the evidence holds no answer."""


def render(name: str, /, **values: str) -> tuple[Message, ...]:
    """The messages of a prompt with its holes filled."""
    return load(name).render(**values)


# Prompt files: front matter, messages and `$name` holes, checked when they are loaded.

TEXT = "text"
"""The `schema` of a prompt whose reply is plain text."""
EVIDENCE = "evidence"
"""The hole for text between evidence marks: it ends the prompt and keeps its marks."""
TABLES = "tables"
"""The same for what tables hold: it begins the last message, so that every step over the same
tables shares what a provider may cache."""
MARKED = (EVIDENCE, TABLES)
Speaker = Literal["system", "user", "assistant"]

_FRONT = re.compile(r"\A\+\+\+\n(?P<front>.*?)^\+\+\+\n(?P<body>.*)\Z", re.DOTALL | re.MULTILINE)
_SPEAKER = re.compile(rf"^## ({'|'.join(get_args(Speaker))})\n", re.MULTILINE)
_KEYS = {"role": str, "schema": str, "max_tokens": int, "holes": list}


@dataclass(frozen=True, slots=True)
class Part:
    """One message of a prompt, its holes still open."""

    speaker: Speaker
    template: str


@dataclass(frozen=True, slots=True)
class Prompt:
    name: str
    role: Role
    schema: str
    """Name of the form the reply must have; `TEXT` where it is free."""
    max_tokens: int
    """Longest reply, in tokens."""
    holes: tuple[str, ...]
    parts: tuple[Part, ...]

    def render(self, **values: str) -> tuple[Message, ...]:
        """The messages to send. Values are put in as they are: a `$` in one is a dollar.

        Two things are changed on the way, for no caller may forget them: a value cannot carry
        marks that chat templates give a meaning, nor, outside the evidence, marks of evidence.
        """
        missing, unknown = set(self.holes) - set(values), set(values) - set(self.holes)
        if missing or unknown:
            wrong = [f"{_listed(missing)} missing"] * bool(missing)
            wrong += [f"{_listed(unknown)} unknown"] * bool(unknown)
            raise UsageError(
                f"the prompt {self.name!r} cannot be rendered: {', '.join(wrong)}",
                hint=f"it takes {_listed(self.holes)}",
            )
        for hole in MARKED:
            evidence = values.get(hole, "")
            if evidence and not is_wrapped(evidence):
                raise UsageError(
                    f"the prompt {self.name!r} was given {hole} without marks: {evidence[:60]!r}",
                    hint="put it between them with evidence_marks(run).wrap(...)",
                )
        safe = {name: without_control_marks(value) for name, value in values.items()}
        safe |= {
            name: without_evidence_marks(value)
            for name, value in safe.items()
            if name not in MARKED
        }
        return tuple(
            Message(part.speaker, Template(part.template).substitute(safe)) for part in self.parts
        )

    @property
    def own_words(self) -> str:
        """What the prompt itself says: everything but the values of its holes."""
        nothing = dict.fromkeys(self.holes, "\n")
        return "\n".join(Template(part.template).substitute(nothing) for part in self.parts)


@cache
def load(name: str) -> Prompt:
    """The prompt of `<name>.md`, shipped beside this module."""
    if name not in names():
        raise UsageError(f"there is no prompt {name!r}", hint=f"there are {_listed(names())}")
    return parse(name, files(__package__).joinpath(f"{name}.md").read_text("utf-8"))


@cache
def names() -> tuple[str, ...]:
    """Every prompt that is shipped."""
    here = files(__package__).iterdir()
    return tuple(sorted(file.name.removesuffix(".md") for file in here if file.name[-3:] == ".md"))


def parse(name: str, text: str) -> Prompt:
    """A prompt from the text of its file; UsageError says what is wrong with it."""
    found = _FRONT.match(text.replace("\r\n", "\n"))
    if found is None:
        raise _fault(name, "it does not begin with front matter between two lines of +++")
    try:
        front = tomllib.loads(found["front"])
    except tomllib.TOMLDecodeError as malformed:
        raise _fault(name, f"its front matter is not TOML: {malformed}") from malformed
    kinds = {key: type(value) for key, value in front.items()}
    if kinds != _KEYS or front["role"] not in get_args(Role) or front["max_tokens"] < 1:
        wanted = ", ".join(f"{key} ({kind.__name__})" for key, kind in _KEYS.items())
        raise _fault(name, f"its front matter must hold {wanted} with a known role, not {front!r}")
    before, *pairs = _SPEAKER.split(found["body"])
    if before.strip() or pairs[:1] != ["system"] or pairs[-2] != "user":
        raise _fault(name, "it must begin with `## system` and end with `## user`")
    parts = tuple(
        Part(cast("Speaker", speaker), content.strip())
        for speaker, content in zip(pairs[::2], pairs[1::2], strict=True)
    )
    _check_holes(name, front["holes"], [part.template for part in parts])
    return Prompt(name, holes=tuple(front.pop("holes")), parts=parts, **front)


def _check_holes(name: str, declared: list[str], templates: list[str]) -> None:
    """Holes are where they are declared to be, and stand where prompt caches want them."""
    if not all(Template(one).is_valid() for one in templates):
        raise _fault(name, "a $ neither begins a hole nor is written $$")
    *early, last = (set(Template(one).get_identifiers()) for one in templates)
    if sorted(last.union(*early)) != sorted(declared):
        used = _listed(last.union(*early))
        raise _fault(name, f"it declares {_listed(declared)} and uses {used}")
    if any(early):
        raise _fault(name, "all but its last message must stay the same: no holes")
    if EVIDENCE in declared and not templates[-1].endswith(f"${EVIDENCE}"):
        raise _fault(name, f"${EVIDENCE} does not come last")
    if TABLES in declared and not templates[-1].startswith(f"${TABLES}"):
        raise _fault(name, f"${TABLES} does not come first")


def _fault(name: str, what: str) -> UsageError:
    return UsageError(f"the prompt {name!r} is malformed: {what}")


def _listed(words: Iterable[object]) -> str:
    return ", ".join(sorted(map(repr, words))) or "nothing"
