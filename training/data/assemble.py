"""The training set as a whole: from the data folder to the files that training reads."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from training.data import claims, files, hotpot, readings, reviews, rows, squad, support
from training.data.chance import chance, is_dev
from training.data.leakage import gold_titles, guard_of
from training.data.rows import Passage, read_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from training.data.leakage import Guard
    from training.data.lexical import Miner
    from training.data.rows import Claim, Part, Question

DEV_SHARE = 0.02
TWO_HOP_DEV_SHARE = 0.03
MOST_REVIEWS = 6000
MOST_OF_A_SOURCE = 30_000
FILES_DEV_SHARE = 0.1

T = TypeVar("T")


@dataclass
class Assembly:
    """One run: where data comes from, what was numbered, what was left out."""

    data: Path
    seed: int
    limit: int | None = None
    """Rows taken of each source; None: all."""
    fill: int = 0
    """How often each template of a document is filled in."""
    forms: Path | None = None
    """Rows of the understander, for claims about forms over tables."""
    written: tuple[Path, ...] = ()
    """What an understander wrote instead of the right forms."""
    miner: Miner | None = None
    """Who finds hard negatives; None: the index of words."""
    passages: dict[Passage, int] = field(default_factory=dict)
    dropped: Counter[str] = field(default_factory=Counter)

    @cached_property
    def guard(self) -> Guard:
        return guard_of(self.data)

    def leaks(self, *texts: str) -> bool:
        """Whether an altered text has become one of a test set; if so it is counted."""
        found = self.guard.leaks(*texts)
        self.dropped["altered into text of a test set"] += found
        return found

    def clean(self, row: Question) -> Question:
        kept = tuple(u for u in row.unanswerable if not self.leaks(u.question or ""))
        return replace(row, unanswerable=kept)

    def keep(self, passage: Passage) -> int:
        return self.passages.setdefault(passage, len(self.passages))

    def lines(self, name: str) -> list[dict[str, Any]]:
        return list(read_lines(self.data / f"{name}.jsonl.gz"))

    def limited(self, items: list[T]) -> list[T]:
        return items if self.limit is None else items[: self.limit]

    @cached_property
    def pool(self) -> squad.Pool:
        return squad.pool_of(self._squad_passages(), self.squad_sources)

    @cached_property
    def squad_numbers(self) -> dict[str, int]:
        """The number of each SQuAD passage that shares nothing with a test set."""
        numbers: dict[str, int] = {}
        for row in self.lines("squad-train/corpus"):
            if self.guard.leaks(row["text"]):
                self.dropped["squad: passage with text of a test set"] += 1
            else:
                numbers[row["id"]] = self.keep(Passage(row["title"], row["text"]))
        return numbers

    def _squad_passages(self) -> dict[int, Passage]:
        known = set(self.squad_numbers.values())
        return {number: passage for passage, number in self.passages.items() if number in known}

    @cached_property
    def squad_sources(self) -> list[squad.Source]:
        texts = self._squad_passages()
        asked = []
        for row in self.limited(self.lines("squad-train/queries")):
            if self.guard.leaks(row["question"]):
                self.dropped["squad: question of a test set"] += 1
            else:
                asked.append(row)
        return list(squad.sources(asked, self.squad_numbers, texts, self.dropped))

    def held_out(self, number: int) -> bool:
        """Whether a SQuAD passage belongs to an article that is kept for choosing models."""
        return is_dev(self.seed, self.pool.views[number].passage.title, DEV_SHARE)

    def questions(self) -> Iterator[tuple[Part, Question]]:
        yield from self._squad_questions()
        yield from hotpot.two_hop_rows(
            self.limited(self.lines("hotpot-train/queries")),
            hotpot.corpus_of(
                self.lines("hotpot-train/corpus"),
                guard=self.guard,
                titles=gold_titles(self.data / "hotpot"),
                dropped=self.dropped,
            ),
            guard=self.guard,
            keep=self.keep,
            dropped=self.dropped,
            seed=self.seed,
            dev_share=TWO_HOP_DEV_SHARE,
            miner=self.miner,
        )
        yield from reviews.review_rows(
            self.lines("subjqa/rows"),
            most=min(MOST_REVIEWS, self.limit or MOST_REVIEWS),
            keep=self.keep,
            dropped=self.dropped,
            seed=self.seed,
            dev_share=DEV_SHARE,
        )

        yield from self._files().rows(files.own_templates()[: self.limit])

    def _files(self) -> files.Maker:
        return files.Maker(self.keep, self.seed, self.fill, FILES_DEV_SHARE, self.dropped)

    def _squad_questions(self) -> Iterator[tuple[Part, Question]]:
        mine = squad.mine_of(self.pool, self.miner)
        closed = frozenset(filter(self.held_out, self.pool.views))
        train = [row for row in self.squad_sources if row.passage not in closed]
        dev = [row for row in self.squad_sources if row.passage in closed]
        for row in squad.question_rows(train, mine, closed=closed, seed=self.seed):
            yield "train", row
        for row in squad.question_rows(dev, mine, seed=self.seed):
            yield "dev", row

    def claims(self) -> Iterator[tuple[Part, Claim]]:
        yield from support.nli_claims(
            self.data / "nli",
            most=min(MOST_OF_A_SOURCE, self.limit or MOST_OF_A_SOURCE),
            guard=self.guard,
            dropped=self.dropped,
            seed=self.seed,
            dev_share=DEV_SHARE,
        )
        yield from support.hallucination_claims(
            self.limited(self.lines("halueval-qa/rows")),
            guard=self.guard,
            dropped=self.dropped,
            seed=self.seed,
            dev_share=DEV_SHARE,
        )
        yield from self._files().claims(files.own_templates()[: self.limit])
        yield from self._own_claims()
        if self.forms is not None:
            yield from readings.claims(self.forms, self.written)

    def _own_claims(self) -> Iterator[tuple[Part, Claim]]:
        asked: dict[int, list[squad.Source]] = {}
        for source in self.squad_sources:
            asked.setdefault(source.passage, []).append(source)
        for view in self.limited(list(self.pool.views.values())):
            scene = claims.Scene(view, self.pool.articles[view.passage.title], self.pool.use.names)
            part: Part = "dev" if self.held_out(view.number) else "train"
            draw = chance(self.seed, f"claims {view.number}")
            for claim in claims.passage_claims(scene, asked.get(view.number, ()), draw=draw):
                yield part, claim


def write(assembly: Assembly, out: Path) -> None:
    """Write questions, claims and, last, every passage that they refer to."""
    out.mkdir(parents=True, exist_ok=True)
    asked = ((part, rows.question_row(assembly.clean(row))) for part, row in assembly.questions())
    _write_parts(out, rows.QUESTION_FILES, asked)
    claimed = (
        (part, rows.claim_row(row))
        for part, row in assembly.claims()
        if not assembly.leaks(row.hypothesis, row.premise or "")
    )
    _write_parts(out, rows.CLAIM_FILES, claimed)
    passages = ({"title": p.title, "text": p.text} for p in assembly.passages)
    rows.write_lines(out / rows.PASSAGES_FILE, passages)


def _write_parts(
    out: Path, files: dict[Part, str], lines: Iterable[tuple[Part, dict[str, Any]]]
) -> None:
    """Training rows go straight to their file; the few held-out ones wait for theirs."""
    held: list[dict[str, Any]] = []

    def training() -> Iterator[dict[str, Any]]:
        for part, line in lines:
            if part == "train":
                yield line
            else:
                held.append(line)

    rows.write_lines(out / files["train"], training())
    rows.write_lines(out / files["dev"], held)
