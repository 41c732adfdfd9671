"""Why two metrics are defined as they are: what other definitions would let pass.

    SECONDLOOK_DATA=... python -m benchmarks.metric_choices

- Faithfulness: which cosine makes two sentences alike, against people's judgement whether a reply
  is attributable to its source (BEGIN, Dziri et al. 2022).
- Right answers in a longer text: how often a sentence that does not hold the answer is taken for
  right (sentences of the gold passages of squad2-dev).

Writes benchmarks/results/metric_choices.json.
"""

from __future__ import annotations

import json
import random
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from benchmarks.reading_answers import SEED, auroc, rows
from secondlook.evaluation.metrics import answers as measured
from secondlook.evaluation.metrics.faithfulness import SIMILAR, Faithfulness
from secondlook.evaluation.metrics.said import sentences
from secondlook.evaluation.metrics.words import pieces, shared
from secondlook.reading import load_embedder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.reading.port import Embedder

RESULT = Path(__file__).parent / "results" / "metric_choices.json"
SIZE = 800
ATTRIBUTABLE = {"Fully attributable": True, "Not fully attributable": False}


def main() -> None:
    found = {"seed": SEED, "faithfulness": faithfulness(), "right_in_text": right_in_text()}
    RESULT.write_text(json.dumps(found, indent=2) + "\n", "utf-8")
    print(json.dumps(found, indent=2))


def faithfulness() -> dict[str, Any]:
    embedder = load_embedder()
    ours = Faithfulness(embedder)
    sample = random.Random(SEED).sample(
        [row for row in rows("faithfulness-human", "begin") if row["begin_label"] in ATTRIBUTABLE],
        SIZE,
    )
    cosines = sorted({SIMILAR, 0.8, 0.85, 0.9, 0.95, ours.least_cosine})
    return {
        "set": "BEGIN",
        "n": SIZE,
        "embedder": embedder.name,
        "least_cosine": round(ours.least_cosine, 4),
        "unrelated": unrelated(embedder),
        "by_cosine": {
            f"{cosine:.3f}": _judged(Faithfulness(embedder, least_cosine=cosine), sample)
            for cosine in cosines
        },
    }


def unrelated(embedder: Embedder) -> dict[str, float]:
    """Cosines of sentences from different articles."""
    by_article = {row["title"]: row["text"] for row in rows("squad2-dev", "corpus")}
    one_each = [sentences(text)[-1] for text in by_article.values()]
    vectors = embedder.embed_passages(one_each)
    pairs = [float(first @ second) for first, second in combinations(vectors, 2)]
    return {"n": len(pairs), "mean": round(fmean(pairs), 4), "lowest": round(min(pairs), 4)}


def _judged(metric: Faithfulness, sample: Sequence[dict[str, Any]]) -> dict[str, float]:
    shares: dict[bool, list[float]] = {True: [], False: []}
    for row in sample:
        share = metric.share(sentences(row["response"]), [row["knowledge"]])
        shares[ATTRIBUTABLE[row["begin_label"]]].append(share)
    return {
        "mean_attributable": round(fmean(shares[True]), 4),
        "mean_not": round(fmean(shares[False]), 4),
        "auroc": round(auroc(shares[True], shares[False]), 4),
    }


def right_in_text() -> dict[str, Any]:
    """Each rule's share of wrong sentences that it takes for right."""
    draw = random.Random(SEED)
    texts = {row["id"]: row["text"] for row in rows("squad2-dev", "corpus")}
    asked = draw.sample([row for row in rows("squad2-dev", "queries") if row["answerable"]], SIZE)
    taken = {"a word or more, F1 0.5": 0, "window as long, F1 0.5": 0, "window as long, F1 0.7": 0}
    seen = 0
    for row in asked:
        wrong = [
            sentence
            for sentence in sentences(texts[row["gold"][0]])
            if not measured.contains(sentence, row["answers"]) and len(pieces(sentence)) > 3
        ]
        if not wrong:
            continue
        seen += 1
        sentence = draw.choice(wrong)
        window = max(measured.best_window(pieces(sentence), pieces(one)) for one in row["answers"])
        word = max(_any_window(pieces(sentence), pieces(one)) for one in row["answers"])
        for rule, value in zip(taken, (word >= 0.5, window >= 0.5, window >= 0.7), strict=True):
            taken[rule] += value
    return {"n": seen, **{rule: round(count / seen, 4) for rule, count in taken.items()}}


def _any_window(words: Sequence[str], right: Sequence[str]) -> float:
    """As `best_window`, but with windows however short."""
    sizes = range(1, 3 * len(right) + 1)
    windows = (words[at : at + size] for size in sizes for at in range(len(words)))
    return max((shared(window, right) for window in windows), default=0.0)


if __name__ == "__main__":
    main()
