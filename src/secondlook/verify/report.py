"""What a verification found."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Literal

from pydantic import ValidationError

from secondlook.answer import Answer
from secondlook.errors import UsageError

Kind = Literal[
    "status", "numbering", "text", "claim", "number", "support", "computation", "choice",
    "research", "table", "code", "result", "figure", "passage", "document", "title", "quote",
    "page", "file", "web",
]  # fmt: skip
"""What does not hold: docs/verify.md says what each one means."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that does not hold, or as a note: one thing that could not be checked."""

    kind: Kind
    where: str  # of what: `answer`, `claim 2`, `citation [1]`, `passage 3f2a9c0d11ee4711.4`
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"


@dataclass(slots=True)
class Report:
    problems: list[Problem] = field(default_factory=list)
    notes: list[Problem] = field(default_factory=list)
    """What a reader should know though nothing is wrong: a file moved, a sentence marked."""

    def wrong(self, kind: Kind, where: str, message: str) -> None:
        if (one := Problem(kind, where, message)) not in self.problems:
            self.problems.append(one)

    def wrong_if(self, found: object, kind: Kind, where: str, message: str) -> None:
        if found:
            self.wrong(kind, where, message)

    def checker(self, kind: Kind, where: str) -> Callable[[object, str], None]:
        """`wrong_if` of one kind and place."""
        return lambda found, message: self.wrong_if(found, kind, where, message)

    def note(self, kind: Kind, where: str, message: str) -> None:
        if (one := Problem(kind, where, message)) not in self.notes:
            self.notes.append(one)


def shown(text: str | None, *, width: int = 60) -> str:
    """A stranger's text as part of a message: on one line, without control characters."""
    if text is None:
        return "none"
    flat = " ".join(text.split())
    return repr(flat if len(flat) <= width else f"{flat[: width - 3]}...")


# What the claims of an answer rest on, which decides how they are checked.

RestsOn = Literal["sources", "tables", "nothing"]


def rests_on(answer: Answer) -> RestsOn:
    """Quoted sources; a result that can be computed again; or, marked as such, general
    knowledge."""
    analysis = answer.analysis
    if analysis is None or analysis.kind in {"limitation", "survey"}:
        return "sources"
    if analysis.kind == "concept":
        return "sources" if analysis.grounded else "nothing"
    return "tables"


# Answers from files and pipes that anybody may have written.

LARGEST = 64 << 20  # bytes. An answer with a hundred web pages has a few million.
_HINT = "secondlook ask --json writes such a file; docs/answer.schema.json describes it"


def load_answer(path: str | Path) -> Answer:
    """The answer in this file."""
    file = Path(path).expanduser()
    try:
        if file.is_dir():  # Windows would say that access is denied
            raise UsageError(f"{str(path)!r} is a folder, not an answer", hint=_HINT)
        with file.open("rb") as stream:
            return read_answer(stream, name=str(path))
    except FileNotFoundError:
        raise UsageError(f"there is no file {str(path)!r}", hint=_HINT) from None
    except (OSError, ValueError) as error:  # ValueError: a null byte in the name
        raise UsageError(f"{str(path)!r} cannot be read: {error}") from error


def read_answer(stream: BinaryIO, *, name: str) -> Answer:
    """The answer that a stream holds as JSON, such as standard input."""
    data = stream.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise UsageError(
            f"{name!r} is larger than {LARGEST >> 20} MB, which no answer is", hint=_HINT
        )
    try:
        # Windows PowerShell writes UTF-16 where another shell writes UTF-8.
        return Answer.model_validate_json(data.decode(json.detect_encoding(data)))
    except UnicodeDecodeError as error:
        why = f"it is not text in UTF-8 (byte {error.start:,})"
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        where = ".".join(str(part) for part in found[0]["loc"])[:80]
        why = f"{repr(where) + ': ' if where else ''}{found[0]['msg']}{more}"
    raise UsageError(f"{name!r} is not an answer: {why}", hint=_HINT)
