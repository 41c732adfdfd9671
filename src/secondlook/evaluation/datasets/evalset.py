"""What every form of set is read into. A row that cannot be used is reported and costs itself."""

from __future__ import annotations

import errno
import gzip
import hashlib
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import IO, Annotated, Any, Literal, TypeVar, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    StringConstraints,
    ValidationError,
)

from secondlook.errors import SecondlookError, UsageError
from secondlook.evaluation.records import Case, Problem
from secondlook.library.report import Text
from secondlook.settings.sections import in_plain_words

Form = Literal["lines", "own", "tables"]
_PROBLEMS_TOLD = 100
_GZIP_MARK = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class TableFile:
    file: str  # its name, such as `sales.csv`
    content: bytes


@dataclass(frozen=True, slots=True)
class EvalSet:
    name: str
    path: Path  # absolute: the folder, or the one file that holds everything
    form: Form
    cases: tuple[Case, ...]
    problems: tuple[Problem, ...]  # rows that cannot be used, and parts of rows that are not used
    fingerprint: str  # SHA-256 of what gets indexed, the same on every machine
    documents: tuple[Path, ...] = ()  # of form `own`: the files to add to a library
    passages: int = 0  # of all other forms: how many documents `texts` yields
    has_corpus: bool = True  # False: only choices or tables, nothing to search
    tables: int = 0
    notes: tuple[str, ...] = ()  # what is left out rightly, such as passages without text
    texts: Callable[[], Iterator[Text]] = field(default=lambda: iter(()), compare=False, repr=False)
    read_table: Callable[[str], TableFile] = field(
        default=lambda name: TableFile(name, b""), compare=False, repr=False
    )

    @property
    def document_count(self) -> int:
        return len(self.documents) or self.passages


def describe(data: EvalSet) -> dict[str, Any]:
    cases = data.cases
    return {
        "name": data.name,
        "form": data.form,
        "questions": len(cases),
        "answerable": sum(case.answerable for case in cases),
        "with_answers": sum(bool(case.answers) for case in cases),
        "with_gold": sum(bool(case.gold) for case in cases),
        "with_choices": sum(case.choices is not None for case in cases),
        "documents": data.document_count,
        "tables": data.tables,
        "problems": [asdict(problem) for problem in data.problems[:_PROBLEMS_TOLD]],
        "problem_count": len(data.problems),
        "notes": list(data.notes),
        "fingerprint": data.fingerprint,
    }


def sample(cases: Sequence[Case], *, limit: int | None, seed: int) -> tuple[Case, ...]:
    """At most `limit` of the cases, in order. The draw goes by a hash of seed and id: it is the
    same everywhere, and a larger limit keeps all questions of a smaller one."""
    if limit is None:
        return tuple(cases)
    if limit < 1:
        raise UsageError(f"a limit of {limit!r} leaves no question", hint="give 1 or more")

    def lot(at: int) -> bytes:
        lot_of = cases[at].thread or cases[at].id  # what leans on earlier questions comes with them
        return hashlib.sha256(f"{seed}:{lot_of}".encode()).digest()

    return tuple(cases[at] for at in sorted(sorted(range(len(cases)), key=lot)[:limit]))


def of_threads(cases: Sequence[Case], which: str | None) -> Sequence[Case]:
    """Those in threads with odd or even numbers: one half to work on, the other to check with."""
    if which is None:
        return cases
    last = [(re.findall(r"\d", case.thread) or [""])[-1] for case in cases]
    if which not in {"odd", "even"} or not all(last):
        raise UsageError(
            f"threads cannot be chosen by {which!r} here",
            hint="give odd or even, and a set whose threads have numbers (docs/data.md)",
        )
    return [
        case for case, digit in zip(cases, last, strict=True) if int(digit) % 2 == (which == "odd")
    ]


# Files with one JSON object per line, compressed or not.


def opened(path: Path) -> IO[bytes]:
    """Unpacked when its first bytes say that it is packed, whatever its name says."""
    if not path.is_file():  # a named pipe would wait for ever
        raise OSError(errno.EINVAL, "it is not a file")
    with path.open("rb") as file:
        packed = file.read(len(_GZIP_MARK)) == _GZIP_MARK
    return cast("IO[bytes]", gzip.open(path)) if packed else path.open("rb")


def unreadable(path: Path, error: OSError) -> UsageError:
    return UsageError(
        f"{str(path)!r} cannot be read: {error.strerror or error}",
        hint="check that it is a file and that you may read it",
    )


def objects(path: Path, problems: list[Problem]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Usable objects with their line, from 1; what a damaged archive still holds is read."""
    line = 0
    try:
        with opened(path) as file:
            for line, data in enumerate(file, 1):
                if not data.strip():
                    continue
                try:
                    found = json.loads(data.decode("utf-8-sig"))
                    reason = "" if isinstance(found, dict) and found else "not a JSON object"
                except (ValueError, RecursionError) as error:
                    reason = f"not JSON in UTF-8: {type(error).__name__}"
                if reason:
                    problems.append(Problem(path.name, line, reason))
                else:
                    yield line, found
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        reason = f"the compressed file is damaged from here on: {error}"
        problems.append(Problem(path.name, line + 1, reason))
    except OSError as error:
        raise unreadable(path, error) from error


# The fields of a row: each is there and of its kind, or the reason is said.


class Malformed(SecondlookError):
    """A row cannot be used; the message is the reason that its problem gives."""


def _as_text(value: object) -> object:
    """Ids and labels may be numbers: 7 and "7" name the same."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


Filled = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Id = Annotated[Filled, BeforeValidator(_as_text)]
Label = Annotated[str, StringConstraints(strip_whitespace=True), BeforeValidator(_as_text)] | None
Answers = Annotated[list[Filled], AfterValidator(lambda found: tuple(dict.fromkeys(found)))]


class RowForm(BaseModel):
    """The fields that a row must or may have; null is as if it were missing."""

    model_config = ConfigDict(strict=True)


R = TypeVar("R", bound=RowForm)
Given = TypeVar("Given")


def read_row(form: type[R], row: dict[str, Any]) -> R:
    optional = {name for name, one in form.model_fields.items() if not one.is_required()}
    given = {key: value for key, value in row.items() if value is not None or key not in optional}
    try:
        return form.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        missing = first["type"] == "missing" or (first["input"] is None and len(first["loc"]) == 1)
        empty = "is empty" if first["type"] == "string_too_short" else ""
        why = "is missing" if missing else empty or in_plain_words(first["msg"])
        raise Malformed(f"{where} {why}") from None


Tell = Callable[[str], None]  # what is wrong with a part of a row costs that part only


def cases_of(
    file: str,
    rows: Iterable[tuple[int, Given]],
    problems: list[Problem],
    case_of: Callable[[Given, Tell], Case],
) -> tuple[Case, ...]:
    """The questions of a file, from its rows with their lines."""
    cases: dict[str, Case] = {}
    for line, row in rows:

        def tell(reason: str, line: int = line) -> None:
            problems.append(Problem(file, line, reason))

        try:
            case = case_of(row, tell)
        except Malformed as error:
            tell(error.message)
            continue
        if case.id in cases:
            tell(f"another question has the id {case.id!r}")
            continue
        if case.answers and not case.answerable and case.need is None:
            tell("it is said to have no answer: the answers given are not used")
            case = replace(case, answers=())
        cases[case.id] = case
    return tuple(cases.values())


# The corpus of a set: rows with id, title and text, read one at a time.


class Passage(RowForm):
    id: Id
    title: str = ""
    text: str

    def as_text(self) -> Text | None:
        said = self.text if self.text.strip() else self.title
        return Text(self.id, said, self.title or None) if said.strip() else None


def fingerprint(digest: hashlib._Hash, *parts: str) -> None:
    """Each part with its length, so that no two sequences of parts look alike."""
    for part in parts:
        data = part.encode()
        digest.update(b"%d:" % len(data) + data)


def read_passages(
    path: Path, problems: list[Problem], *, id_field: str = "id"
) -> Iterator[Passage]:
    """The usable rows of a corpus file. Of two with the same id the first stands."""
    first: dict[str, int] = {}
    for line, row in objects(path, problems):
        try:
            found = read_row(Passage, {**row, "id": row.get(id_field)})
        except Malformed as error:
            problems.append(Problem(path.name, line, error.message))
            continue
        if first.setdefault(found.id, line) == line:
            yield found
        else:
            reason = f"id {found.id!r} is that of line {first[found.id]} already"
            problems.append(Problem(path.name, line, reason))


# Our own form, to which public sets are converted: `corpus.jsonl` and `queries.jsonl`.

_NOTHING_TO_SEARCH = (
    "there is no corpus, so that nothing is searched: only what a model knows can answer "
    "(--workflow research --set research.guess=true)"
)


class _Query(RowForm):
    id: Id
    question: Filled
    answers: Answers = []
    gold: list[Id] = []
    answerable: bool = True
    choices: dict[str, str] | None = None
    choice: str | None = None
    # The first that is filled is what results are broken down by.
    type: Label = None
    level: Label = None
    difficulty: Label = None
    subject: Label = None


def read_lines(folder: Path, *, corpus: Path | None, queries: Path) -> EvalSet:
    """Without a corpus: questions of multiple choice alone."""
    problems: list[Problem] = []
    ids, blank, digest = set(), 0, hashlib.sha256()
    for passage in read_passages(corpus, problems) if corpus else ():
        if found := passage.as_text():
            ids.add(passage.id)
            fingerprint(digest, found.name, found.title or "", found.text)
        else:  # no library can hold it
            blank += 1
    notes = (f"{blank:,} passages without text are not indexed",) if blank else ()

    def case_of(row: dict[str, Any], tell: Tell) -> Case:
        one = read_row(_Query, row)
        for name in one.gold if corpus else ():
            if name not in ids:
                tell(f"gold {name!r} is not in the corpus, or has no text")
        if one.choice and one.choice not in (one.choices or {}):
            raise Malformed(f"choice {one.choice!r} is none of the choices")
        return Case(
            id=one.id,
            question=one.question,
            answers=tuple(one.answers),
            answerable=one.answerable,
            type=one.type or one.level or one.difficulty or one.subject or None,
            choices=one.choices,
            choice=one.choice or None,
            gold={name: 1 for name in one.gold if name in ids},
        )

    return EvalSet(
        name=folder.name,
        path=folder,
        form="lines",
        cases=cases_of(queries.name, objects(queries, problems), problems, case_of),
        problems=tuple(problems),
        fingerprint=digest.hexdigest(),
        passages=len(ids),
        has_corpus=corpus is not None,
        notes=notes if corpus else (_NOTHING_TO_SEARCH,),
        texts=lambda: filter(
            None, map(Passage.as_text, read_passages(corpus, []) if corpus else ())
        ),
    )


# An exam: conversations about documents, judged by what is said.


class _Asked(RowForm):
    id: Id
    thread: Label = None
    turn: int = 1
    question: Filled
    kind: Filled
    answers: Answers = []
    files: list[Filled] = []
    answerable: bool = True
    need: Literal["any", "all"] = "any"


def read_exam(
    path: Path, problems: list[Problem], gold: Callable[[list[str], Tell], dict[str, int]]
) -> tuple[Case, ...]:
    """`gold` says which documents the names of files mean."""
    turns: dict[str, int] = {}

    def case_of(row: dict[str, Any], tell: Tell) -> Case:
        one = read_row(_Asked, row)
        turns[one.id] = one.turn
        # What is computed from a table rests on no passage that could be found.
        files = [] if one.kind.startswith("table") else one.files
        return Case(
            id=one.id,
            question=one.question,
            answers=tuple(one.answers),
            answerable=one.answerable,
            type=one.kind,
            gold=gold(files, tell),
            thread=one.thread or one.id,
            need=one.need,
        )

    cases = cases_of(path.name, objects(path, problems), problems, case_of)
    return tuple(sorted(cases, key=lambda case: turns[case.id]))


# Questions over tables: a table each, and nothing to search.


class _Task(RowForm):
    id: Id
    question: Filled
    file_name: Filled
    constraints: str = ""
    format: str = ""
    level: Label = None
    answers: list[tuple[str, Any]]


def read_dabench(folder: Path, *, questions: Path, tables: Path) -> EvalSet:
    """InfiAgent-DABench as it is published (Hu et al., ICML 2024)."""
    problems: list[Problem] = []
    files = {
        file.name.removesuffix(".gz"): file
        for file in sorted(tables.iterdir())
        if file.is_file() and not file.name.startswith(".")
    }

    def read_table(name: str) -> TableFile:
        with opened(files[name]) as file:
            return TableFile(name, file.read())

    def case_of(row: dict[str, Any], _: Tell) -> Case:
        pairs = [
            tuple(pair) if isinstance(pair, list) else pair for pair in row.get("answers") or ()
        ]
        one = read_row(_Task, {**row, "answers": pairs or None})
        if one.file_name not in files:
            raise Malformed(f"its table {one.file_name!r} is not in the folder")
        values = {name: str(value) for name, value in one.answers}
        parts = (one.question, one.constraints.strip(), one.format.strip())
        return Case(
            id=one.id,
            question="\n".join(filter(None, parts)),
            answers=tuple(f"@{name}[{value}]" for name, value in values.items()),
            type=one.level or None,
            table=one.file_name,
            values=tuple((name, str(value)) for name, value in one.answers),
        )

    cases = cases_of(questions.name, objects(questions, problems), problems, case_of)
    digest = hashlib.sha256()
    asked = sorted({case.table for case in cases if case.table})
    for name in asked:
        fingerprint(digest, name, hashlib.sha256(read_table(name).content).hexdigest())
    return EvalSet(
        name=folder.name,
        path=folder,
        form="tables",
        cases=cases,
        problems=tuple(problems),
        fingerprint=digest.hexdigest(),
        has_corpus=False,
        tables=len(asked),
        notes=("every question is about one table, and is given that one alone",),
        read_table=read_table,
    )
