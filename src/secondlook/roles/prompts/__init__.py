"""What models are told: one file per node, and the marks that keep data apart from it.

`answer.md` and its neighbours are front matter and messages with `$name` holes. `docs/models.md`
says how to write one.
"""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Template
from typing import Any, Literal, cast

from secondlook.errors import UsageError
from secondlook.models.chat import Message, Role
from secondlook.roles.prompts.marks import is_wrapped, without_control_marks, without_evidence_marks

NOT_FOUND = "NOT IN THE EVIDENCE"
"""What a model is told to reply, word for word, where the evidence holds no answer."""


TEXT = "text"  # The `schema` of a prompt whose reply is plain text
EVIDENCE = "evidence"
"""The hole for text between evidence marks: it ends the prompt and keeps its marks."""
TABLES = "tables"
"""The same for what tables hold: it begins the last message, so that every step over the same
tables shares what a provider may cache."""
MARKED = (EVIDENCE, TABLES)

_SPEAKER = re.compile(r"^## (system|user|assistant)\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Part:
    """One message of a prompt, its holes still open."""

    speaker: Literal["system", "user", "assistant"]
    template: str

    @property
    def names(self) -> list[str]:
        """Of its holes."""
        return Template(self.template).get_identifiers()


@dataclass(frozen=True, slots=True)
class Prompt:
    name: str
    role: Role
    schema: str  # Name of the form the reply must have; `TEXT` where it is free
    max_tokens: int  # Longest reply, in tokens
    parts: tuple[Part, ...]

    @property
    def holes(self) -> frozenset[str]:
        return frozenset(one for part in self.parts for one in part.names)

    def render(self, **values: str) -> tuple[Message, ...]:
        """The messages to send. Values are put in as they are: a `$` in one is a dollar.

        Two things are changed on the way, for no caller may forget them: a value cannot carry
        marks that chat templates give a meaning, nor, outside the evidence, marks of evidence.
        """
        missing, unknown = self.holes - set(values), set(values) - self.holes
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
    """A prompt from the text of its file, which is one of ours (`tests/unit/test_prompts.py`)."""
    _, front, body = text.replace("\r\n", "\n").split("+++\n", 2)
    _, *pairs = _SPEAKER.split(body)
    parts = tuple(
        Part(cast("Any", speaker), content.strip())
        for speaker, content in zip(pairs[::2], pairs[1::2], strict=True)
    )
    return Prompt(name, parts=parts, **tomllib.loads(front))


def _listed(words: Iterable[object]) -> str:
    return ", ".join(sorted(map(repr, words))) or "nothing"
