"""How good a checkpoint is on held-out parts of the training sets. One JSON line per checkpoint.

python -m training.score --data IN --work DIR --checkpoints DIR/a DIR/b
"""

from __future__ import annotations

import argparse
import json
import re
import string
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from training.arrays import NO_SPAN, POSITIVE, SUPPORTED, UNANSWERABLE
from training.batches import in_order, right_and_wrong
from training.encode import TOKENIZER, cached_pairs
from training.engine import find_engine, say
from training.model import parameters
from training.teach import said
from training.weights_in import glance_head, glance_layers, load_checkpoint

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from training.arrays import Floats, Integers, Pairs
    from training.model import Engine, Outputs, Parameters, Tensor

    Scores = dict[str, NDArray[Any]]

ANSWER_TOKENS = 30
TOKENS, TOKENS_ON_CPU = 65_536, 1_024
"""Of one pass. What is not used is filled up, which a processor has no time for."""
COLUMNS = ("relevance", "answerable", "support", "first", "last", "span", "null")


def read_all(weights: Parameters, pairs: Pairs, engine: Engine) -> Scores:
    """Every output for every pair; the best span as passage tokens."""
    tokens = TOKENS_ON_CPU if engine.device == "cpu" else TOKENS
    names = [*COLUMNS, *map(glance_head, glance_layers(weights))]
    made = np.zeros((len(names), len(pairs.kind)), np.float32)
    rows = np.arange(len(pairs.kind))
    for batch, _, outputs in said(weights, in_order(pairs, rows, tokens=tokens), engine):
        made[:, batch.pair] = torch.stack(_columns(outputs)).float().cpu().numpy()
    scores: Scores = dict(zip(names, made, strict=True))
    shift = pairs.question_tokens(rows) + 2 - pairs.offset
    for side in ("first", "last"):
        scores[side] = scores[side].astype(np.int64) - shift
    return scores


def _columns(outputs: Outputs) -> list[Tensor]:
    score, first, last = best_spans(outputs.start, outputs.end)
    null = outputs.start[:, 0] + outputs.end[:, 0]
    heads = [outputs.relevance, outputs.answerable, outputs.support]
    return [*heads, first, last, score, null, *outputs.glances.values()]


def best_spans(start: Tensor, end: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Score, first and last token of each row's best answer, as the product picks it."""
    start, end = start.clone(), end.clone()
    start[:, 0] = end[:, 0] = -1e6
    score, first = start.new_full((len(start),), -1e9), start.new_zeros(len(start))
    last = first.clone()
    for reach in range(min(ANSWER_TOKENS, start.shape[1])):
        best, at = (start[:, : start.shape[1] - reach] + end[:, reach:]).max(-1)
        better = best > score
        score = torch.where(better, best, score)
        first = torch.where(better, at.to(first.dtype), first)
        last = torch.where(better, (at + reach).to(last.dtype), last)
    return score, first, last


def figures(pairs: Pairs, scores: Scores, tokenizer: Tokenizer) -> dict[str, Any]:
    return {
        "reading": reading(pairs, scores, tokenizer),
        "ranking": ranking(pairs, scores["relevance"]),
        "answerability": answerability(pairs, scores),
        "support": support(pairs, scores["support"]),
        "glances": {
            name: ranking(pairs, scores[name]) for name in scores if name.startswith("glance")
        },
    }


def reading(pairs: Pairs, scores: Scores, tokenizer: Tokenizer) -> dict[str, Any]:
    """Exact match and word F1 of the best span, given the passage with the answer."""
    rows = np.flatnonzero((pairs.kind == POSITIVE) & (pairs.spans[:, 0, 0] != NO_SPAN))
    source = np.repeat(pairs.source, np.diff(pairs.groups))[rows]
    found = []
    for row in rows:
        start = pairs.bounds[pairs.passage[row]]
        said_, right = (
            tokenizer.decode(pairs.tokens[start + a : start + b + 1].tolist())
            for a, b in (
                (scores["first"][row], scores["last"][row]),
                pairs.spans[row, 0].astype(np.int64),
            )
        )
        found.append((normal(said_) == normal(right), word_f1(said_, right)))
    both = np.array(found, np.float32).reshape(-1, 2)
    return {
        str(name): {"em": mean(both[source == code, 0]), "f1": mean(both[source == code, 1])}
        for code, name in enumerate(pairs.sources)
        if np.any(source == code)
    }


def ranking(pairs: Pairs, relevance: Floats) -> dict[str, Any]:
    """Where the best right passage stands among its question's candidates."""
    ranks: dict[str, list[int]] = {}
    for group, code in enumerate(pairs.source):
        rows = np.arange(pairs.groups[group], pairs.groups[group + 1])
        right, wrong = right_and_wrong(pairs, rows)
        if right.any() and wrong.any():
            best = relevance[rows[right]].max()
            ahead = int((relevance[rows[wrong]] >= best).sum())
            ranks.setdefault(str(pairs.sources[code]), []).append(ahead)
    return {
        name: {
            "r@1": mean(np.array(places) == 0),
            "mrr": mean(1 / (np.array(places) + 1)),
            "questions": len(places),
        }
        for name, places in ranks.items()
    }


def answerability(pairs: Pairs, scores: Scores) -> dict[str, Any]:
    """Area under the curve: answerable rows against those made unanswerable, all and by how."""
    right = (pairs.kind == POSITIVE) & (pairs.spans[:, 0, 0] != NO_SPAN)
    wrong = pairs.kind == UNANSWERABLE
    margin = scores["span"] - scores["null"]
    made = {
        "head": auroc(scores["answerable"][right], scores["answerable"][wrong]),
        "margin": auroc(margin[right], margin[wrong]),
        "both": auroc(*((scores["answerable"] + margin / 4)[side] for side in (right, wrong))),
    }
    hows = {
        str(how): auroc(scores["answerable"][right], scores["answerable"][wrong & at])
        for code, how in enumerate(pairs.details)
        if np.any(wrong & (at := pairs.detail == code))
    }
    return {**made, "by how": hows}


def support(pairs: Pairs, logits: Floats) -> dict[str, Any]:
    """Balanced accuracy at zero, and the area under the curve, all and by source."""
    rows = np.flatnonzero(pairs.kind >= SUPPORTED)
    chosen = {"all": rows}
    for code, name in enumerate(pairs.details):
        if np.any(pairs.detail[rows] == code):
            chosen[str(name)] = rows[pairs.detail[rows] == code]
    return {name: _balance(pairs, logits, part) for name, part in chosen.items() if len(part)}


def _balance(pairs: Pairs, logits: Floats, rows: Integers) -> dict[str, Any]:
    truth, score = pairs.kind[rows] == SUPPORTED, logits[rows]
    shares = [mean(score[truth] > 0), mean(score[~truth] <= 0)]
    known = [share for share in shares if share is not None]
    area = auroc(score[truth], score[~truth])
    return {"balanced": round(sum(known) / len(known), 4), "auroc": area, "rows": len(rows)}


def auroc(right: Floats, wrong: Floats) -> float | None:
    """How often a right one scores above a wrong one; ties count half."""
    if not len(right) or not len(wrong):
        return None
    ordered = np.sort(wrong)
    below = np.searchsorted(ordered, right, side="left")
    up_to = np.searchsorted(ordered, right, side="right")
    return round(float((below + up_to).mean() / (2 * len(wrong))), 4)


def mean(values: NDArray[Any]) -> float | None:
    return round(float(np.mean(values)), 4) if len(values) else None


def normal(text: str) -> str:
    kept = "".join(char for char in text.lower() if char not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", kept).split())


def word_f1(said_: str, right: str) -> float:
    words, wanted = normal(said_).split(), normal(right).split()
    shared = sum((Counter(words) & Counter(wanted)).values())
    return 2 * shared / (len(words) + len(wanted)) if shared else float(words == wanted)


def evaluate(weights: Parameters, pairs: Pairs, engine: Engine, **facts: Any) -> dict[str, Any]:
    """Score on a dev part and say it."""
    from tokenizers import Tokenizer

    began = time.monotonic()
    scores = read_all(weights, pairs, engine)
    made = figures(pairs, scores, Tokenizer.from_file(str(TOKENIZER)))
    say(**facts, seconds=round(time.monotonic() - began, 1), **made)
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--checkpoints", type=Path, nargs="+", required=True)
    parser.add_argument("--out", type=Path, help="keep the figures in this JSON file")
    given = parser.parse_args()
    engine = find_engine(compiled=False)
    pairs = cached_pairs(given.work, given.data, "dev")
    made = {}
    for folder in given.checkpoints:
        weights = parameters(load_checkpoint(folder), engine.device)
        made[folder.name] = evaluate(weights, pairs, engine, checkpoint=str(folder))
    if given.out:
        given.out.write_text(json.dumps(made, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
