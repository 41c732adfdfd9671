"""How well the right passages are found: by meaning, by words, by both, and with the reader.

    SECONDLOOK_DATA=FOLDER python -m benchmarks.ranking [--sets scifact,hotpot] [--questions 200]

The product as it is set up by default, and with one half of its search switched off, over
`squad2-dev`, `scifact`, `hotpot` and `cranfield`: every answerable question, or so many by chance.
Each set is indexed once, under `.cache/eval`. Writes benchmarks/results/ranking.json.
"""

from __future__ import annotations

import os
import statistics
from contextlib import closing
from typing import TYPE_CHECKING, Any

from benchmarks.common import CACHE, SEED, data_folder, parser, save
from secondlook.evaluation.cache import Memory
from secondlook.evaluation.datasets import load
from secondlook.evaluation.datasets.evalset import sample
from secondlook.evaluation.library import cache_folder, names_by_document, open_indexed
from secondlook.evaluation.metrics import retrieval_metrics
from secondlook.settings.sections import Settings

if TYPE_CHECKING:
    from secondlook.evaluation.datasets.evalset import EvalSet

SETS = ("squad2-dev", "scifact", "hotpot", "cranfield")
DEPTH = 20
SHOWN = ("recall@1", "recall@5", "recall@20", "ndcg@10")
WAYS: dict[str, dict[str, Any]] = {
    "dense": {"lexical": 0.0, "rerank": False},
    "lexical": {"dense": 0.0, "rerank": False},
    "hybrid": {"rerank": False},
    "default": {},
}


def measured(data: EvalSet, questions: int | None) -> dict[str, Any]:
    settings = Settings()
    cases = [case for case in data.cases if case.answerable and case.gold]
    asked = sample(cases, limit=questions, seed=SEED)
    told: dict[str, Any] = {"questions": len(asked), "passages": data.document_count}
    with closing(open_indexed(data, settings, Memory(cache_folder() / "memory.db"))) as library:
        names = names_by_document(library, data)
        for way, options in WAYS.items():
            rows = []
            for case in asked:
                hits = library.search(case.question, k=DEPTH, **options)
                found = [name for hit in hits for name in names[hit.passage.document]]
                rows.append(retrieval_metrics(dict(case.gold), list(dict.fromkeys(found))))
            told[way] = {
                metric: round(statistics.fmean(row[metric] for row in rows), 4)
                for metric in SHOWN
                if metric in rows[0]
            }
            print(data.name, way, told[way], flush=True)
    return told


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--sets", default=",".join(SETS))
    options.add_argument("--questions", type=int, help="of each set; all unless given")
    given = options.parse_args()
    os.environ.setdefault("SECONDLOOK_CACHE", str(CACHE / "eval"))
    found = {
        name: measured(load(data_folder() / name), given.questions)
        for name in given.sets.split(",")
    }
    save("ranking", {"sets": found})


if __name__ == "__main__":
    main()
