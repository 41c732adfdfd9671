"""What teachers say of the training pairs, once, for students to learn from.

    python -m training.teach --data IN --work DIR --teachers DIR/a DIR/b --out DIR/taught

The logits of several teachers are averaged. Students then train with `training.train --teacher`.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from training.arrays import NEGATIVE
from training.batches import in_order, mined_order
from training.encode import cached_pairs
from training.engine import find_engine, say
from training.model import OUTSIDE, Outputs, forward, parameters, rows_on
from training.weights_in import load_checkpoint

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from training.arrays import Floats, Integers, Pairs
    from training.batches import Batch
    from training.model import Engine, Parameters, Rows, Tensor

EASY = -1e9
SCALARS = ("relevance", "answerable", "support")


@dataclass(frozen=True, slots=True)
class Taught:
    """Logits by pair, on the device."""

    first: Tensor
    """Of each pair, where its tokens begin in start and end; -1: nothing said of it."""
    start: Tensor
    end: Tensor
    scalars: Tensor
    """(3, pairs), in the order of SCALARS."""

    def of(self, pair: Tensor, rows: Rows) -> Outputs:
        """What the teachers say of a batch, laid out as the student's own outputs."""
        length = rows.bounds[: rows.real + 1].diff()
        places = torch.arange(rows.longest, device=pair.device)
        where = self.first[pair][:, None] + places
        outside = places >= length[:, None]
        where = where.masked_fill(outside, 0)
        start, end = (
            side[where].float().masked_fill(outside, OUTSIDE) for side in (self.start, self.end)
        )
        relevance, answerable, support = self.scalars[:, pair]
        return Outputs(start, end, relevance, answerable, support)


def pool(pairs: Pairs, hardness: Floats, negatives: int) -> Integers:
    """The pairs worth asking about: all but the easy negatives."""
    rows = np.arange(len(pairs.kind))
    group = np.repeat(np.arange(len(pairs.source)), np.diff(pairs.groups))
    wrong = rows[pairs.kind == NEGATIVE]
    ordered = wrong[np.lexsort((-hardness[wrong], group[wrong]))]
    starts = np.searchsorted(group[ordered], group[ordered])
    rank = np.arange(len(ordered)) - starts
    return np.sort(np.concatenate([rows[pairs.kind != NEGATIVE], ordered[rank < negatives]]))


def said(
    weights: Parameters, batches: Iterator[Batch], engine: Engine
) -> Iterator[tuple[Batch, Rows, Outputs]]:
    with torch.no_grad():
        for batch in batches:
            rows = rows_on(engine.device, batch)
            yield batch, rows, forward(weights, rows, engine)


def teach(
    pairs: Pairs, teachers: Sequence[Parameters], engine: Engine, rows: Integers, tokens: int
) -> Taught:
    """Run every teacher over the pool. Everything stays on the device until it is saved."""
    lengths = pairs.lengths
    first = np.full(len(pairs.kind), -1, np.int64)
    first[rows] = np.concatenate([[0], lengths[rows].cumsum()[:-1]])
    on_device = torch.from_numpy(first).to(engine.device)
    total = int(lengths[rows].sum())
    start, end = (torch.zeros(total, dtype=torch.float16, device=engine.device) for _ in range(2))
    scalars = torch.zeros(len(SCALARS), len(first), device=engine.device)
    taught = Taught(on_device, start, end, scalars)
    for weights in teachers:
        for batch, laid, outputs in said(weights, in_order(pairs, rows, tokens=tokens), engine):
            _add(taught, batch, laid, outputs, 1 / len(teachers))
        say(taught=len(rows), tokens=total)
    return taught


def _add(taught: Taught, batch: Batch, rows: Rows, outputs: Outputs, share: float) -> None:
    pair = torch.from_numpy(batch.pair).to(taught.first.device)
    length = rows.bounds[: rows.real + 1].diff()
    places = torch.arange(rows.longest, device=pair.device)
    inside = places < length[:, None]
    where = (taught.first[pair][:, None] + places)[inside]
    for kept, made in ((taught.start, outputs.start), (taught.end, outputs.end)):
        kept[where] += (made[inside] * share).half()
    made = torch.stack([getattr(outputs, name) for name in SCALARS])
    taught.scalars[:, pair] += made * share


def save(taught: Taught, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("first", "start", "end", "scalars"):
        np.save(folder / f"{name}.npy", getattr(taught, name).cpu().numpy())


def load(folder: Path, device: str) -> Taught:
    def read(name: str) -> Any:
        return torch.from_numpy(np.load(folder / f"{name}.npy")).to(device)

    return Taught(read("first"), read("start"), read("end"), read("scalars"))


def scored_hardness(folder: Path) -> Floats:
    """The teachers' relevance of every pair they were asked about; the others count as easy."""
    relevance: Floats = np.load(folder / "scalars.npy")[SCALARS.index("relevance")]
    return np.where(np.load(folder / "first.npy") < 0, EASY, relevance).astype(np.float32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--teachers", type=Path, nargs="+", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--negatives", type=int, default=6, help="per question; 0: labels alone")
    parser.add_argument("--tokens", type=int, default=131_072, help="per pass")
    given = parser.parse_args()
    engine = find_engine()
    pairs = cached_pairs(given.work, given.data, "train")
    rows = pool(pairs, mined_order(pairs), given.negatives)
    say(engine=engine.name, pairs=len(rows), teachers=[str(folder) for folder in given.teachers])
    teachers = [parameters(load_checkpoint(folder), engine.device) for folder in given.teachers]
    save(teach(pairs, teachers, engine, rows, given.tokens), given.out)
    say(saved=str(given.out))


if __name__ == "__main__":
    main()
