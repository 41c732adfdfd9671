"""Questions, the candidates that the product's searches find for them, and what readers made of
those: searched and read once, kept in one file of SQLite.

Each set is one library, indexed by the product as it indexes anyone's documents. Questions of
evaluate-only sets stay under `.cache` and never enter the repository. They come in an order that
has nothing to do with what they ask, all sets at the same pace, so that a run may be cut at any
moment and what is there is a fair sample.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import sqlite3
import time
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from benchmarks.common import CACHE, data_folder, rows, write_set
from secondlook.evaluation.cache import Memory
from secondlook.evaluation.datasets import load
from secondlook.evaluation.library import cache_folder, names_by_document, open_indexed
from secondlook.evaluation.metrics import exact_match, f1, is_right_shown, retrieval_metrics
from secondlook.library.library import search_options
from secondlook.reading.calibration import BEST, Candidate, load_calibration
from secondlook.reading.port import Reading
from secondlook.reading.second_look import ahead_of, is_yes_or_no, look_twice
from secondlook.retrieval.index.port import EVERYTHING, Entry, Filter
from secondlook.retrieval.search import (
    DEFAULT_OPTIONS,
    OPENING,
    Ranked,
    best_looks,
    in_context,
    order,
    read_in_context,
)
from secondlook.retrieval.terms import query_terms, terms
from secondlook.roles.sentences import sentence_around, whole_numbers
from secondlook.settings.sections import Settings
from training.data.assemble import FILES_DEV_SHARE
from training.data.chance import chance, is_dev
from training.data.files import as_typed, filled, own_templates, said

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from secondlook.reading.calibration import Calibration
    from secondlook.reading.reader import OnnxReader

    ByLabel = Mapping[str, list["Case"]]

FOLDER = CACHE / "reader_quality"
FILES = "files"
"""Everyday documents from templates that no reader was trained on (`training/files`)."""
QUESTIONS: Mapping[str, int] = {
    "squad2-dev": 5948,
    "shift-new_wiki": 1000,
    "hotpot": 944,
    "scifact": 300,
    "hotpot-train": 400,
    FILES: 2000,
}
"""How many are read at most; a reader takes about 25 minutes on two quiet cores."""
CHOICE = {"margin": 1.0}
"""The span with the highest margin, chosen among ten rules (docs/results.md)."""
YES_NO = ("yes", "no")
_SLOT = re.compile(r"\{([^{}]+)\}")
_SHELVES = 16
_LEFT_OUT = 6
"""One in so many documents is not in the library that is asked about it."""
_OTHER_THING = 0.1
_DISTRACTORS = 20
"""Per question of `hotpot-train`: passages that words alone would find."""
_NOTHING = Candidate(-20.0, -20.0, -20.0, 0.0, score=0.0, fusion_score=0.0).features
FIRST_LOOK = replace(load_calibration(""), choice=CHOICE, second=None, yes_no=None)
_TABLES = """
pragma journal_mode = wal;
pragma synchronous = normal;
create table if not exists passages (
    id text primary key, title text not null, heading text not null, text text not null
) without rowid;
create table if not exists questions (
    data text, id text, place integer not null, asked text not null, found text not null,
    primary key (data, id)
) without rowid;
create table if not exists readings (
    reader text, data text, id text, read text not null, primary key (reader, data, id)
) without rowid;
create table if not exists seconds (
    reader text, data text, id text, seen text not null, primary key (reader, data, id)
) without rowid;
create table if not exists openings (
    document text primary key, opening text not null
) without rowid;
create table if not exists readers (label text primary key, reader text not null) without rowid;
"""


@dataclass(frozen=True, slots=True)
class Passage:
    id: str
    title: str
    heading: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Found:
    """A passage that the searches found, and how they found it."""

    passage: str
    document: str
    names: tuple[str, ...]
    """What the set calls the document."""
    start: int
    end: int
    fusion_score: float
    dense_rank: int | None
    lexical_rank: int | None


@dataclass(frozen=True, slots=True)
class Question:
    data: str
    id: str
    question: str
    answers: tuple[str, ...]
    gold: Mapping[str, int]
    answerable: bool
    article: str
    """What questions hang together by: the title of the gold passage, or of the first of them."""
    found: tuple[Found, ...]


class Store:
    def __init__(self, file: Path = FOLDER / "readings.db") -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self._database = sqlite3.connect(file, timeout=60)
        self._database.executescript(_TABLES)

    def close(self) -> None:
        self._database.close()

    def add(self, place: int, question: Question, passages: Iterable[Passage]) -> None:
        asked = asdict(question)
        found = json.dumps(asked.pop("found"))
        row = (question.data, question.id, place, json.dumps(asked), found)
        with self._database:
            self._database.execute("insert or replace into questions values (?, ?, ?, ?, ?)", row)
            self._database.executemany(
                "insert or ignore into passages values (?, ?, ?, ?)",
                [(one.id, one.title, json.dumps(one.heading), one.text) for one in passages],
            )

    def add_openings(self, openings: Mapping[str, str]) -> None:
        with self._database:
            self._database.executemany(
                "insert or ignore into openings values (?, ?)", openings.items()
            )

    def openings(self) -> dict[str, str]:
        return dict(self._database.execute("select document, opening from openings"))

    def ids(self, data: str) -> set[str]:
        asked = self._database.execute("select id from questions where data = ?", (data,))
        return {found for (found,) in asked}

    def questions(self, data: str, most: int = -1) -> list[Question]:
        held = self._database.execute(
            "select asked, found from questions where data = ? order by place limit ?", (data, most)
        )
        return [
            Question(
                **{**asked, "answers": tuple(asked["answers"])},
                found=tuple(Found(**{**one, "names": tuple(one["names"])}) for one in found),
            )
            for asked, found in ((json.loads(one), json.loads(other)) for one, other in held)
        ]

    def texts(self) -> dict[str, Passage]:
        held = self._database.execute("select id, title, heading, text from passages")
        return {
            name: Passage(name, title, tuple(json.loads(heading)), text)
            for name, title, heading, text in held
        }

    def keep(self, reader: str, question: Question, readings: Sequence[Reading]) -> None:
        packed = [
            [
                round(value, 5) if isinstance(value, float) else value
                for value in asdict(one).values()
            ]
            for one in readings
        ]
        row = (reader, question.data, question.id, json.dumps(packed))
        with self._database:
            self._database.execute("insert or replace into readings values (?, ?, ?, ?)", row)

    def keep_second(self, reader: str, question: Question, best: Sequence[Candidate]) -> None:
        seen = json.dumps([(one.together, one.lead) for one in best])
        row = (reader, question.data, question.id, seen)
        with self._database:
            self._database.execute("insert or replace into seconds values (?, ?, ?, ?)", row)

    def seconds(self, reader: str, data: str) -> dict[str, list[tuple[float | None, ...]]]:
        """Of each question what the second look found, in the order of `Case.best`."""
        held = self._database.execute(
            "select id, seen from seconds where reader = ? and data = ?", (reader, data)
        )
        return {name: json.loads(seen) for name, seen in held}

    def done(self, reader: str) -> set[tuple[str, str]]:
        held = self._database.execute("select data, id from readings where reader = ?", (reader,))
        return set(held)

    def read(self, reader: str, data: str) -> dict[str, tuple[Reading, ...]]:
        """What one reader made of the candidates of each question, in their order."""
        held = self._database.execute(
            "select id, read from readings where reader = ? and data = ?", (reader, data)
        )
        return {
            name: tuple(Reading(*values) for values in json.loads(packed)) for name, packed in held
        }

    def name_reader(self, label: str, reader: str) -> None:
        with self._database:
            self._database.execute("insert or replace into readers values (?, ?)", (label, reader))

    def readers(self) -> dict[str, str]:
        """Label to identity of the readers that were compared last."""
        return dict(self._database.execute("select label, reader from readers"))


def lot(name: str) -> str:
    """A key that puts questions in an order that has nothing to do with what they ask."""
    return hashlib.sha256(name.encode()).hexdigest()


# Searching


def prepare(store: Store, wanted: Mapping[str, int]) -> None:
    """Index and search what was not yet; interrupted, it goes on where it was."""
    for name, most in wanted.items():
        if len(store.ids(name)) < most:
            for place, question, passages in _searched(name, most, store):
                store.add(place, question, passages)
        print(f"{name}: {len(store.ids(name))} questions searched", flush=True)


def _searched(name: str, most: int, store: Store) -> Iterator[tuple[int, Question, list[Passage]]]:
    os.environ.setdefault("SECONDLOOK_CACHE", str(CACHE / "eval"))
    settings = Settings()
    made = {"hotpot-train": _part_of_hotpot_train, FILES: _held_out_files}
    data = load(made[name]() if name in made else data_folder() / name)
    library = open_indexed(data, settings, Memory(cache_folder() / "memory.db"))
    names, shelf, known = names_by_document(library, data), library.shelf(), store.ids(name)
    titles = {text.name: text.title or "" for text in data.texts()}
    options = search_options(settings.search, k=settings.answer.k)
    store.add_openings({one: library.text(one).text[:OPENING] for one in names})
    beside = _shelves(names, [case.id for case in data.cases]) if name == FILES else {}
    for place, case in enumerate(sorted(data.cases, key=lambda case: lot(case.id))[:most]):
        if case.id in known:
            continue
        where = beside.get(case.id, EVERYTHING)
        hits = shelf.find(case.question, options, where)[: options.candidates]
        found = tuple(
            Found(
                passage=hit.passage.id,
                document=hit.passage.document,
                names=names[hit.passage.document],
                start=hit.passage.start,
                end=hit.passage.end,
                fusion_score=hit.fusion_score,
                dense_rank=hit.dense_rank,
                lexical_rank=hit.lexical_rank,
            )
            for hit in hits
        )
        asked = Question(
            data=name,
            id=case.id,
            question=case.question,
            answers=case.answers,
            gold=dict(case.gold),
            answerable=case.answerable,
            article=titles.get(next(iter(case.gold), ""), ""),
            found=found,
        )
        held = [hit.passage for hit in hits]
        yield place, asked, [Passage(one.id, one.title, one.heading, one.text) for one in held]


def _part_of_hotpot_train() -> Path:
    """So many questions over their gold passages and those that share their rarest words:
    distractors, as HotpotQA picks its own."""
    folder = FOLDER / "hotpot-train"
    if (folder / "queries.jsonl").exists():
        return folder
    corpus = {row["id"]: row for row in rows("hotpot-train", "corpus")}
    asked = sorted(rows("hotpot-train", "queries"), key=lambda row: lot(row["id"]))
    asked = [row for row in asked if corpus.keys() >= set(row["gold"])]
    asked = asked[: QUESTIONS["hotpot-train"]]
    chosen = {passage for row in asked for passage in row["gold"]}
    holding: dict[str, list[str]] = defaultdict(list)
    for passage, row in corpus.items():
        for term in set(terms(f"{row['title']} {row['text']}")):
            holding[term].append(passage)
    for row in asked:
        weight: Counter[str] = Counter()
        for term in set(query_terms(row["question"])):
            rarity = math.log(1 + len(corpus) / (1 + len(holding.get(term, ()))))
            for passage in holding.get(term, ()):
                weight[passage] += rarity  # type: ignore[assignment]
        chosen.update(passage for passage, _ in weight.most_common(_DISTRACTORS))
    return write_set(folder, [corpus[passage] for passage in sorted(chosen)], asked)


def _held_out_files() -> Path:
    """One document of every template; questions about those of the templates that are held out. One
    in six of these is left out of the library, and some questions are about another thing: nothing
    answers them."""
    folder = FOLDER / FILES
    if (folder / "queries.jsonl").exists():
        return folder
    corpus: list[dict[str, Any]] = []
    asked: list[dict[str, Any]] = []
    held_out = 0
    for template in own_templates():
        draw, title = chance(1, template.name), template.name.partition(": ")[2]
        made = filled(template, draw)
        dev = is_dev(0, template.name, FILES_DEV_SHARE)
        held_out += dev
        gone = dev and held_out % _LEFT_OUT == 0
        if not gone:
            corpus.append({"id": template.name, "title": title, "text": made.text})
        for line, one in enumerate(template.asked if dev else ()):
            for at, wording in enumerate(one.wordings):
                plain, other = said(wording, made), ""
                if slots := _SLOT.findall(wording):
                    drawn = draw.random() < _OTHER_THING
                    other = said(wording, made, draw.choice(slots), draw) if drawn else ""
                spans = [made.spans[key] for key in one.keys]
                answers = [made.text[min(spans)[0] : max(end for _, end in spans)]] if spans else []
                answers = [one.how] if one.how in YES_NO else answers
                answers = [] if gone or other or one.how == "none" else answers
                asked.append(
                    {
                        "id": f"{template.name} {line}.{at}",
                        "question": as_typed(other or plain, draw),
                        "answers": answers,
                        "gold": [] if gone else [template.name],
                        "answerable": bool(answers),
                    }
                )
    return write_set(folder, corpus, asked)


def _shelves(names: Mapping[str, tuple[str, ...]], asked: Iterable[str]) -> dict[str, Filter]:
    """Each question is asked of the few documents that stand on one shelf with its own."""

    def shelf_of(name: str) -> int:
        return int(lot(name), 16) % _SHELVES

    held: dict[int, set[str]] = defaultdict(set)
    for document, known in names.items():
        held[shelf_of(known[0])].add(document)
    return {one: Filter(frozenset(held[shelf_of(one.rpartition(" ")[0])])) for one in asked}


# Reading


@dataclass(frozen=True, slots=True)
class Competitor:
    """A reader in the comparison, under the name that the figures give it."""

    label: str
    reader: OnnxReader
    looks: int | None
    """How many candidates it reads to the end; None = all."""

    @property
    def identity(self) -> str:
        """Whose readings they are: of the same weights, looking at as many."""
        return f"{self.reader.name}/{'all' if self.looks is None else self.looks}"

    def read(
        self, question: Question, texts: Mapping[str, Passage], openings: Mapping[str, str]
    ) -> list[Reading]:
        given = [texts[one.passage] for one in question.found]
        choose = None
        if self.looks is not None:
            fusion = [one.fusion_score for one in question.found]
            choose = best_looks(fusion, blend=DEFAULT_OPTIONS.blend, looks=self.looks)
        parts = [(one.title, one.heading, one.text) for one in given]
        begun = [openings.get(one.document, "") for one in question.found]
        return read_in_context(self.reader, question.question, parts, openings=begun, choose=choose)


def read_all(
    store: Store, competitors: Sequence[Competitor], wanted: Mapping[str, int], *, seconds: float
) -> None:
    """Read for so long at most; what is still missing is read by the next call."""
    began, last, texts = time.monotonic(), time.monotonic(), store.texts()
    openings = store.openings()
    done = {one.label: store.done(one.identity) for one in competitors}
    for one in competitors:
        store.name_reader(one.label, one.identity)
    paced = []
    for name, most in wanted.items():
        asked = store.questions(name, most)
        paced += [((at + 0.5) / len(asked), question) for at, question in enumerate(asked)]
    queue = [
        (one, question)
        for _, question in sorted(paced, key=lambda item: item[0])
        for one in competitors
        if (question.data, question.id) not in done[one.label]
    ]
    for at, (one, question) in enumerate(queue):
        now = time.monotonic()
        if now - began > seconds:
            break
        if now - last > 10:
            last = now
            left = (now - began) / max(1, at) * (len(queue) - at)
            print(f"{at} of {len(queue)} read, {left / 60:.0f} min left", flush=True)
        readings = one.read(question, texts, openings)
        store.keep(one.identity, question, readings)
        case = case_of(question, readings, texts, openings)
        best = look_twice(one.reader.judge, question.question, case.best, case.said)
        store.keep_second(one.identity, question, best)


# Questions as the product answers them


@dataclass(frozen=True, slots=True)
class Picked:
    """The answer that would be given if none were withheld."""

    features: Mapping[str, float]
    em: float
    f1: float
    right: float


@dataclass(frozen=True, slots=True)
class Case:
    """One question through one reader."""

    question: Question
    best: tuple[Candidate, ...]
    """Of the best five those that were read to the end, in the order of the product."""
    said: tuple[tuple[str, str], ...]
    """The words of each one's span, and its passage with what stands above it."""
    scores: tuple[tuple[float, float, float], ...]
    gold: tuple[bool, ...]
    """Of the same, whether the set names their document for this question."""
    retrieval: Mapping[str, float]
    """Recall and nDCG of the documents in that order."""
    found: bool
    """Whether a gold passage is among the best five."""
    chooser: Calibration = FIRST_LOOK

    @property
    def answerable(self) -> bool:
        return self.question.answerable

    def seen_twice(self, seconds: Sequence[tuple[float | None, ...]], chooser: Calibration) -> Case:
        """With what the second look found. Of a question for yes or no it is the answer."""
        if not seconds:
            return self
        best = tuple(
            replace(one, together=together, lead=lead, ahead=ahead_of(self.best, at))
            for at, (one, (together, lead)) in enumerate(zip(self.best, seconds, strict=True))
        )
        scores = self.scores
        if is_yes_or_no(self.question.question) and set(self.question.answers) & set(YES_NO):
            said = ["" if one.lead is None else YES_NO[one.lead < 0] for one in best]
            scores = tuple(_scores(self.question, one) for one in said)
        return replace(self, best=best, scores=scores, chooser=chooser)

    @property
    def judged(self) -> list[Picked]:
        """Every answer that was looked at twice."""
        both = zip(self.best, self.scores, strict=True)
        return [Picked(one.features, *score) for one, score in both if one.together is not None]

    @property
    def asks_yes_or_no(self) -> bool:
        return is_yes_or_no(self.question.question)

    @property
    def picked(self) -> Picked:
        at = self.chooser.best_answer(self.best)
        if at is None:  # nothing was found or read: as sure as can be that this is no answer
            return Picked(_NOTHING, 0.0, 0.0, 0.0)
        return Picked(self.best[at].features, *self.scores[at])


def case_of(
    question: Question,
    readings: Sequence[Reading],
    texts: Mapping[str, Passage],
    openings: Mapping[str, str],
) -> Case:
    by_id = dict(zip((one.passage for one in question.found), readings, strict=True))
    ranked = [_ranked(one, texts[one.passage].text) for one in question.found]
    ordered = order(ranked, by_id, blend=DEFAULT_OPTIONS.blend)
    gold = {one.passage for one in question.found if is_gold(one, question)}
    best = [
        (item, item.reading)
        for item in ordered[:BEST]
        if item.reading is not None and item.reading.looked
    ]

    def shown(passage: str, document: str) -> str:
        one, opening = texts[passage], openings.get(document, "")
        return in_context(question.question, one.title, one.heading, one.text, opening)

    return Case(
        question=question,
        best=tuple(
            Candidate(
                relevance=reading.relevance,
                answerable=reading.answerable,
                span_score=reading.span_score,
                null_score=reading.null_score,
                score=item.score,
                fusion_score=item.fusion_score,
                dense_rank=item.dense_rank,
                lexical_rank=item.lexical_rank,
            )
            for item, reading in best
        ),
        said=tuple(
            (_words(item.entry.text, reading)[0], shown(item.entry.id, item.entry.document))
            for item, reading in best
        ),
        scores=tuple(_scores(question, *_words(item.entry.text, one)) for item, one in best),
        gold=tuple(item.entry.id in gold for item, _ in best),
        retrieval=_retrieval(question, ordered),
        found=question.answerable and any(item.entry.id in gold for item in ordered[:BEST]),
    )


def without_answer(
    question: Question, readings: Sequence[Reading]
) -> tuple[Question, list[Reading]]:
    """The question asked of a library that lacks its gold documents: what stood below moves up in
    both searches. What would move in from further down was not read."""
    gone = [one for one in question.found if is_gold(one, question)]
    left = [at for at, one in enumerate(question.found) if not is_gold(one, question)]

    def moved_up(one: Found) -> Found:
        ranks = []
        for name in ("dense_rank", "lexical_rank"):
            rank, others = getattr(one, name), [getattr(other, name) for other in gone]
            ranks.append(
                rank and rank - sum(other is not None and other < rank for other in others)
            )
        k, weights = DEFAULT_OPTIONS.rrf_k, (DEFAULT_OPTIONS.dense, DEFAULT_OPTIONS.lexical)
        shares = [w * (k + 1) / (k + rank) for w, rank in zip(weights, ranks, strict=True) if rank]
        fused = sum(shares) / sum(weights)
        return replace(one, dense_rank=ranks[0], lexical_rank=ranks[1], fusion_score=fused)

    found = tuple(moved_up(question.found[at]) for at in left)
    return replace(question, answerable=False, found=found), [readings[at] for at in left]


def hybrid(question: Question) -> Mapping[str, float]:
    """Recall and nDCG of the searches alone."""
    unread = order([_ranked(one, "") for one in question.found], {}, blend=DEFAULT_OPTIONS.blend)
    return _retrieval(question, unread)


def is_gold(one: Found, question: Question) -> bool:
    return any(name in question.gold for name in one.names)


def _ranked(one: Found, text: str) -> Ranked:
    return Ranked(
        entry=Entry(one.passage, one.document, text, (), one.start, one.end),
        score=one.fusion_score,
        fusion_score=one.fusion_score,
        dense_rank=one.dense_rank,
        lexical_rank=one.lexical_rank,
    )


def _words(text: str, reading: Reading) -> tuple[str, str]:
    """Of the span, and of the sentence that it stands in."""
    span = whole_numbers(text, reading.start, reading.end)
    both = (text[slice(*one)] for one in (span, sentence_around(text, *span)))
    said, sentence = (" ".join(one.split()) for one in both)
    return said, sentence


def _scores(question: Question, said: str, sentence: str = "") -> tuple[float, float, float]:
    """Exact match, F1, and whether it is right as it is shown."""
    if not question.answerable or not question.answers:
        return 0.0, 0.0, 0.0
    right = question.answers
    return exact_match(said, right), f1(said, right), float(is_right_shown(said, sentence, right))


def _retrieval(question: Question, ordered: Sequence[Ranked]) -> Mapping[str, float]:
    if not question.answerable or not question.gold:
        return {}
    names = {
        one.document: next((name for name in one.names if name in question.gold), one.names[0])
        for one in question.found
    }
    return retrieval_metrics(question.gold, [names[item.entry.document] for item in ordered])


@dataclass(slots=True)
class Read:
    """The readings of the store as questions through readers, made once per set."""

    store: Store
    labels: tuple[str, ...]
    texts: Mapping[str, Passage] = field(init=False)
    openings: Mapping[str, str] = field(init=False)
    _made: dict[str, dict[str, list[Case]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.texts = self.store.texts()
        self.openings = self.store.openings()

    def of(self, data: str) -> dict[str, list[Case]]:
        """By label, the same questions for all."""
        if data not in self._made:
            names = self.store.readers()
            read = {label: self.store.read(names[label], data) for label in self.labels}
            common = set.intersection(*(set(found) for found in read.values()))
            asked = [one for one in self.store.questions(data) if one.id in common]
            self._made[data] = {}
            for label, found in read.items():
                seconds = self.store.seconds(names[label], data)
                known = load_calibration(names[label].partition("/")[0])
                chooser = known if known.label == "calibrated" else FIRST_LOOK
                cases = [case_of(one, found[one.id], self.texts, self.openings) for one in asked]
                self._made[data][label] = [
                    one.seen_twice(seconds.get(one.question.id, ()), chooser) for one in cases
                ]
        return self._made[data]

    def mixed(self, data: str) -> dict[str, list[Case]]:
        """The same, with as many without an answer as the set has: where reading was cut, or one
        kind was read first, the kind that is further along is cut to the share of the other."""
        found, asked = self.of(data), self.store.questions(data)
        one = next(iter(found.values()))
        places = {
            kind: [at for at, case in enumerate(one) if case.answerable is kind]
            for kind in (True, False)
        }
        sizes = {kind: sum(one.answerable is kind for one in asked) for kind in places}
        share = min((len(places[kind]) / sizes[kind] for kind in places if sizes[kind]), default=0)
        kept = sorted(at for kind in places for at in places[kind][: round(share * sizes[kind])])
        return {label: [cases[at] for at in kept] for label, cases in found.items()}

    def robbed(self, data: str, label: str) -> list[Case]:
        """What one reader makes of the answerable questions when the library lacks the answer."""
        read = self.store.read(self.store.readers()[label], data)
        asked = [one for one in self.store.questions(data) if one.answerable and one.id in read]
        return [
            case_of(*left, self.texts, self.openings)
            for one in asked
            if (left := without_answer(one, read[one.id]))[0].found
        ]


def held(by_label: ByLabel) -> dict[str, list[Case]]:
    return {label: [case for case in cases if case.answerable] for label, cases in by_label.items()}
