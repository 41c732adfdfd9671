"""What every form is read into."""

from __future__ import annotations

import codecs
import errno
import gzip
import hashlib
import json
import zlib
from dataclasses import asdict, dataclass, field, replace
from typing import IO, TYPE_CHECKING, Any, Literal, cast

from secondlook.errors import SecondlookError, UsageError
from secondlook.evaluation.records import Problem
from secondlook.library.report import Text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from secondlook.evaluation.records import Case

Form = Literal["lines", "squad", "beir", "own", "tables"]
_PROBLEMS_TOLD = 100


@dataclass(frozen=True, slots=True)
class EvalSet:
    """Questions and the documents that they are asked of."""

    name: str
    path: Path
    """Absolute: the folder, or the one file that holds everything."""
    form: Form
    cases: tuple[Case, ...]
    problems: tuple[Problem, ...]
    """Rows that cannot be used, and parts of rows that are not used."""
    fingerprint: str
    """SHA-256 of what gets indexed: names, titles and texts, or names and contents of files. The
    same on every machine, and whether or not a file is compressed."""
    documents: tuple[Path, ...] = ()
    """Of form `own`: the files to add to a library."""
    passages: int = 0
    """Of all other forms: how many documents `texts` yields."""
    has_corpus: bool = True
    """False: questions of multiple choice alone, or over tables, with nothing to search."""
    tables: int = 0
    """Of form `tables`: how many there are."""
    split: str | None = None
    """Of form `beir`: the judgements that were read."""
    notes: tuple[str, ...] = ()
    """What is left out rightly, such as queries that nobody judged."""
    texts: Callable[[], Iterator[Text]] = field(default=lambda: iter(()), compare=False, repr=False)
    """The documents, read again from disk each time; none of form `own`."""
    read_table: Callable[[str], TableFile] = field(
        default=lambda name: TableFile(name, b""), compare=False, repr=False
    )
    """Of form `tables`: the table that a question names."""

    @property
    def document_count(self) -> int:
        return len(self.documents) or self.passages


def _questions_fingerprint(cases: Sequence[Case]) -> str:
    """SHA-256 of the questions and all that is known about them."""
    digest = hashlib.sha256()
    for case in cases:
        digest.update(json.dumps(asdict(case), sort_keys=True).encode() + b"\n")
    return digest.hexdigest()


def describe(data: EvalSet) -> dict[str, Any]:
    """What `results.json` says about the set: plain values, and no path of this machine."""
    cases = data.cases
    return {
        "name": data.name,
        "form": data.form,
        "split": data.split,
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
        "questions_fingerprint": _questions_fingerprint(cases),
    }


# What the sets of questions over tables have in common: a table each, and nothing to search.

NOTE = "every question is about one table, and is given that one alone"


@dataclass(frozen=True, slots=True)
class TableFile:
    """A table as a file would hold it."""

    file: str
    """Its name, such as `sales.csv`."""
    content: bytes


def read_cases(
    path: Path,
    problems: list[Problem],
    case_of: Callable[[dict[str, Any], Gathering, int], Case | None],
) -> tuple[Case, ...]:
    """Every question of a file; a row that cannot be used is told, one of which there is to be no
    question is None."""
    gathering = Gathering(path.name, problems)
    for line, row in objects(path, problems):
        try:
            if case := case_of(row, gathering, line):
                gathering.take(case, line=line, where=f"line {line}")
        except Malformed as error:
            gathering.tell(line, error.message)
    return tuple(gathering.cases)


def table_set(
    folder: Path,
    cases: tuple[Case, ...],
    problems: list[Problem],
    digests: Mapping[str, str],
    read_table: Callable[[str], TableFile],
) -> EvalSet:
    """`digests` are of the tables' contents, by name."""
    digest = hashlib.sha256()
    for name, content in sorted(digests.items()):
        fingerprint(digest, name, content)
    return EvalSet(
        name=folder.name,
        path=folder,
        form="tables",
        cases=cases,
        problems=tuple(problems),
        fingerprint=digest.hexdigest(),
        has_corpus=False,
        tables=len(digests),
        notes=(NOTE,),
        read_table=read_table,
    )


# Cases gathered one by one: no id twice, and gold that can be found.


@dataclass(slots=True)
class Gathering:
    """Questions of one file. What is wrong with a part of a row costs that part only."""

    file: str
    problems: list[Problem]
    cases: list[Case] = field(default_factory=list)
    _seen: dict[str, tuple[str, str]] = field(default_factory=dict)

    def take(self, case: Case, *, line: int | None, where: str) -> None:
        """`where` names the row for those that come after it."""
        if case.id in self._seen:
            place, question = self._seen[case.id]
            same = "the same question as" if question == case.question else "id of another at"
            raise Malformed(f"{same} {place}, with the id {case.id!r}")
        self._seen[case.id] = where, case.question
        if case.answers and not case.answerable:
            reason = "it is said to have no answer: the answers given are not used"
            self.tell(line, reason if line else f"{where}: {reason}")
            case = replace(case, answers=())
        self.cases.append(case)

    def findable(
        self, gold: Mapping[str, int], corpus: Corpus, *, line: int | None
    ) -> dict[str, int]:
        """Gold that is in the corpus; the rest is reported."""
        for name in gold:
            if name not in corpus.ids:
                blank = name in corpus.blank
                why = "is a passage without text" if blank else "is not in the corpus"
                self.tell(line, f"gold {name!r} {why}")
        return {name: grade for name, grade in gold.items() if name in corpus.ids}

    def tell(self, line: int | None, reason: str) -> None:
        self.problems.append(Problem(self.file, line, reason))


# The corpus of a set: rows with id, title and text, read one at a time.


@dataclass(frozen=True, slots=True)
class Passage:
    id: str
    title: str
    text: str

    def as_text(self) -> Text | None:
        """What a library is given. Some sets have rows of a title alone: that is their text."""
        said = self.text if self.text.strip() else self.title
        return Text(self.id, said, self.title or None) if said.strip() else None


@dataclass(slots=True)
class Corpus:
    """What is known of the passages after reading them once; the passages are not kept."""

    ids: set[str] = field(default_factory=set)
    blank: set[str] = field(default_factory=set)
    """Rows without any text: no library can hold them."""
    fingerprint: str = ""

    @classmethod
    def survey(cls, passages: Iterable[Passage]) -> Corpus:
        corpus, digest = cls(), hashlib.sha256()
        for passage in passages:
            if found := passage.as_text():
                corpus.ids.add(passage.id)
                fingerprint(digest, found.name, found.title or "", found.text)
            else:
                corpus.blank.add(passage.id)
        corpus.fingerprint = digest.hexdigest()
        return corpus

    @property
    def notes(self) -> tuple[str, ...]:
        count = len(self.blank)
        return (f"{count:,} passages without text are not indexed",) if count else ()


def fingerprint(digest: hashlib._Hash, *parts: str) -> None:
    """Each part with its length, so that no two sequences of parts look alike."""
    for part in parts:
        data = part.encode()
        digest.update(b"%d:" % len(data))
        digest.update(data)


def read_passages(path: Path, problems: list[Problem], *, id_field: str) -> Iterator[Passage]:
    """The usable rows of a corpus file. Of two with the same id the first stands."""
    first: dict[str, int] = {}
    for line, row in objects(path, problems):
        try:
            name = identifier(row, id_field)
            passage = Passage(name, optional_text(row, "title"), text(row, "text"))
        except Malformed as error:
            problems.append(Problem(path.name, line, error.message))
            continue
        if first.setdefault(name, line) == line:
            yield passage
        else:
            reason = f"id {name!r} is that of line {first[name]} already"
            problems.append(Problem(path.name, line, reason))


def as_texts(passages: Iterable[Passage]) -> Iterator[Text]:
    return (found for passage in passages if (found := passage.as_text()))


# Fields of a row, taken with care: each is there and of its kind, or the reason is said.

_SHOWN = 40


class Malformed(SecondlookError):
    """A row cannot be used; the message is the reason that its problem gives."""


def shown(value: object) -> str:
    """A value from a file, short enough for a message."""
    whole = repr(value)
    return whole if len(whole) <= _SHOWN else f"{whole[: _SHOWN - 3]}..."


def identifier(row: Mapping[str, Any], key: str) -> str:
    return as_identifier(_needed(row, key), key)


def as_identifier(value: object, what: str) -> str:
    """Ids may be texts or whole numbers: 7 and "7" name the same."""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise Malformed(f"{what} is {_kind(value)}, not a text or a whole number")
    if not str(value).strip():
        raise Malformed(f"{what} is empty")
    return _whole(str(value), what)


def text(row: Mapping[str, Any], key: str) -> str:
    return _as_text(_needed(row, key), key)


def optional_text(row: Mapping[str, Any], key: str) -> str:
    """Empty where the field is missing or null."""
    return "" if row.get(key) is None else _as_text(row[key], key)


def filled_text(row: Mapping[str, Any], key: str) -> str:
    """A text with something in it, without the blanks around it."""
    value = text(row, key).strip()
    if not value:
        raise Malformed(f"{key} is empty")
    return value


def optional_list(row: Mapping[str, Any], key: str) -> list[Any]:
    """Empty where the field is missing or null."""
    value = row.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise Malformed(f"{key} is {_kind(value)}, not a list")
    return value


def answers(values: Iterable[object]) -> tuple[str, ...]:
    """Each once, in their order."""
    texts = [_as_text(value, "an answer").strip() for value in values]
    if not all(texts):
        raise Malformed("an answer is empty")
    return tuple(dict.fromkeys(texts))


def optional_flag(row: Mapping[str, Any], key: str, *, default: bool) -> bool:
    value = row.get(key)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise Malformed(f"{key} is {shown(value)}, not true or false")
    return value


def first_label(row: Mapping[str, Any], keys: Iterable[str]) -> str | None:
    """The first of these fields that says anything."""
    for key in keys:
        value = row.get(key)
        if isinstance(value, (dict, list)):
            raise Malformed(f"{key} is {_kind(value)}, not a text or a number")
        if value is not None and str(value).strip():
            return _whole(str(value).strip(), key)
    return None


def text_map(row: Mapping[str, Any], key: str) -> dict[str, str] | None:
    """None where the field is missing or null."""
    value = row.get(key)
    if value is None:
        return None
    if not isinstance(value, dict) or not value:
        raise Malformed(f"{key} is {shown(value)}, not texts by letter")
    return {_whole(name, key): _as_text(item, f"{key} {name!r}") for name, item in value.items()}


def _needed(row: Mapping[str, Any], key: str) -> Any:
    if row.get(key) is None:
        raise Malformed(f"{key} is missing")
    return row[key]


def _as_text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise Malformed(f"{what} is {_kind(value)}, not a text")
    return _whole(value, what)


def _whole(value: str, what: str) -> str:
    """Half of a surrogate pair, or a byte that is no UTF-8, can be neither stored nor shown."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise Malformed(f"{what} holds a broken character at {error.start}") from error
    return value


def _kind(value: object) -> str:
    kinds = {dict: "an object", list: "a list", bool: "true or false", str: "a text"}
    return kinds.get(type(value), "null" if value is None else "a number")


# Files with one JSON object per line, compressed or not; a broken line costs that line.

_GZIP_MARK = b"\x1f\x8b"
BROKEN_ARCHIVE = (EOFError, zlib.error, gzip.BadGzipFile)


def opened(path: Path) -> IO[bytes]:
    """Unpacked when its first bytes say that it is packed, whatever its name says."""
    if not path.is_file():  # a named pipe would wait for ever
        raise OSError(errno.EINVAL, "it is not a file")
    with path.open("rb") as file:
        packed = file.read(len(_GZIP_MARK)) == _GZIP_MARK
    return cast("IO[bytes]", gzip.open(path)) if packed else path.open("rb")


def objects(path: Path, problems: list[Problem]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Every usable object with its line number, counted from 1; blank lines are nothing."""
    for line, data in numbered_lines(path, path.name, problems):
        if not data.strip():
            continue
        try:
            found = json.loads(data.decode().rstrip())
            if isinstance(found, dict) and found:
                yield line, found
                continue
            reason = f"not a JSON object but {shown(found)}" if found else "an empty object"
        except UnicodeDecodeError as error:
            reason = f"not UTF-8 at byte {error.start + 1} of the line"
        except json.JSONDecodeError as error:
            reason = f"not JSON: {error.msg} at column {error.colno}"
        except (ValueError, RecursionError) as error:
            reason = f"not JSON that can be read: {type(error).__name__}"
        problems.append(Problem(path.name, line, reason))


def first_object(path: Path) -> dict[str, Any]:
    """Empty when there is none."""
    return next((found for _, found in objects(path, [])), {})


def numbered_lines(path: Path, name: str, problems: list[Problem]) -> Iterator[tuple[int, bytes]]:
    """Lines with their numbers, as far as the file can be read; `name` is for the problem."""
    line = 0
    try:
        with opened(path) as file:
            for line, data in enumerate(file, 1):
                yield line, data.removeprefix(codecs.BOM_UTF8) if line == 1 else data
    except BROKEN_ARCHIVE as error:
        reason = f"the compressed file is damaged from here on: {error}"
        problems.append(Problem(name, line + 1, reason))
    except OSError as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: OSError) -> UsageError:
    return UsageError(
        f"{str(path)!r} cannot be read: {error.strerror or error}",
        hint="check that it is a file and that you may read it",
    )


# A part of the questions, drawn at random.


def sample(cases: Sequence[Case], *, limit: int | None, seed: int) -> tuple[Case, ...]:
    """At most `limit` of the cases, in the order of the set.

    The draw goes by a hash of seed and id: it is the same under every version of Python, and a
    larger limit keeps all questions of a smaller one, so that what is done need not be done again.
    """
    if limit is None:
        return tuple(cases)
    if limit < 1:
        raise UsageError(f"a limit of {limit!r} leaves no question", hint="give 1 or more")

    def lot(at: int) -> bytes:
        return hashlib.sha256(f"{seed}:{cases[at].id}".encode()).digest()

    return tuple(cases[at] for at in sorted(sorted(range(len(cases)), key=lot)[:limit]))
