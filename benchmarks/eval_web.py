"""When the web pays: the same questions while the library holds everything, and while it does not.

From a set two are made. As is, the library holds every passage. Moved, 30 % of the gold passages
(fixed seed) are not in the library. In both, the same small web on loopback holds exactly those
30 % and, as the rest of the web, the 18,891 passages of `squad-train`, which are about other
articles. So one thing differs: whether the library lacks what the web has.

`linear`, `adaptive` and `adaptive+web` answer both, without a model.

    SECONDLOOK_DATA=FOLDER python -m benchmarks.eval_results web
"""

from __future__ import annotations

import itertools
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.eval_runs import answered, differences, figures
from benchmarks.eval_sets import SEED, by_answerable, data_folder, move, read_rows, some_gold
from benchmarks.eval_web_server import CorpusServer, Page, read_pages
from secondlook.evaluation.records import Configuration

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from benchmarks.eval_sets import Moved
    from secondlook.answer import Scalar
    from secondlook.evaluation.study import Evaluated

DATA = "squad2-dev"
ELSEWHERE = "squad-train"
SHARE = 0.3
LINEAR, ADAPTIVE, WITH_WEB = "linear", "adaptive", "adaptive+web"
PAIRS = ((LINEAR, ADAPTIVE), (ADAPTIVE, WITH_WEB))


@dataclass(frozen=True, slots=True)
class Study:
    sets: Moved
    elsewhere: Sequence[Page]

    @property
    def pages(self) -> list[Page]:
        """What the web holds, the same in both conditions."""
        moved = (Page(row["id"], row["title"], row["text"]) for row in self.sets.passages)
        return [*moved, *self.elsewhere]


def prepare(folder: Path, *, answerable: int | None, unanswerable: int | None) -> Study:
    """The passages that are moved depend on the whole set, not on how many questions are asked."""
    source = data_folder() / DATA
    corpus, queries = (read_rows(source, name) for name in ("corpus", "queries"))
    asked = by_answerable(queries, answerable=answerable, unanswerable=unanswerable)
    gone = some_gold(corpus, queries, share=SHARE)
    return Study(move(corpus, asked, gone, folder), read_pages(data_folder() / ELSEWHERE))


def configurations(url: str, **changes: Scalar) -> list[Configuration]:
    """The three that are compared; `changes` hold for all."""
    web: dict[str, Scalar] = {
        "web.enable_web_search": True,
        "web.backend": "searxng",
        "web.url": url,
        "web.allow_private": True,  # the pages are on loopback too
    }
    return [
        Configuration(LINEAR, "linear", changes, "search once"),
        Configuration(ADAPTIVE, "adaptive", changes, "search again where the search looks poor"),
        Configuration(WITH_WEB, "adaptive", changes | web, "and then look on the web"),
    ]


@contextmanager
def small_web(pages: Sequence[Page], port: int) -> Iterator[CorpusServer]:
    try:
        server = CorpusServer(pages, port=port)
    except OSError as error:
        raise SystemExit(f"port {port} of this machine cannot be used: {error}") from error
    with server:
        yield server


def both(study: Study, folder: Path, *, memory: Path, port: int) -> dict[str, Evaluated]:
    """Everything answered in both conditions."""
    sets = {"as is": study.sets.as_is, "moved": study.sets.moved}
    with small_web(study.pages, port) as server:
        plans = configurations(server.url)
        return {
            name: answered(path, plans, folder / "runs" / path.name, memory=memory)
            for name, path in sets.items()
        }


def web_study(study: Study, found: dict[str, Evaluated]) -> dict[str, Any]:
    return described(study) | {
        "conditions": {name: condition(evaluated) for name, evaluated in found.items()}
    }


def described(study: Study) -> dict[str, Any]:
    return {
        "data": DATA,
        "seed": SEED,
        "share": SHARE,
        "moved_passages": len(study.sets.passages),
        "web_pages": len(study.pages),
        "elsewhere": ELSEWHERE,
    }


def condition(evaluated: Evaluated) -> dict[str, Any]:
    """Figures of one condition: of all questions, and of those whose passage is concerned."""
    parts = {
        "all": lambda _row: True,
        "moved": lambda row: row.type == "moved",
        "kept": lambda row: row.type == "kept",
    }
    return {
        "questions": len(evaluated.cases),
        "answerable": sum(case.answerable for case in evaluated.cases),
        "documents": evaluated.data.document_count,
        "by_part": {
            part: len([case for case in evaluated.cases if case.type == part])
            for part in itertools.islice(parts, 1, None)
        },
        "configurations": figures(evaluated),
        "differences": differences(evaluated.rows, PAIRS, parts=parts),
    }
