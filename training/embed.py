"""Train the embedder: a question's vector close to that of the passage which answers it.

    python -m training.make embedder --data $SECONDLOOK_DATA --base gte-small/... --work DIR

Each question meets its passage, one that search by words takes for it, and those of all other
questions of the step (contrastive loss, as Karpukhin et al. 2020, arXiv:2004.04906). A passage that
is nearly the right one counts neither way.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.nn import functional

from training.arrays import CLS, NEGATIVE, POSITIVE, SEP
from training.encode import cached_pairs
from training.engine import find_engine, say
from training.model import Rows, arrays_of, parameters, states
from training.train import Averaged, Clock, Recipe, ahead, learning_rate, optimiser, shares
from training.weights_in import load_base, save_checkpoint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from training.arrays import Integers, Pairs
    from training.model import Engine, Parameters, Tensor

MIX = {"squad": 0.40, "files": 0.55, "hotpot": 0.05}
RECIPE = Recipe(seed=3, tokens=163_840, rate=4e-5, warmup=60, dropout=0.05, average=0.99, every=25)
OPTIONS = ("seed", "tokens", "rate", "warmup", "dropout", "average", "every")
QUESTION_TOKENS, PASSAGE_TOKENS = 64, 256
HARDER = 8
"""The wrong passage is drawn from so many of the hardest."""
SHARPNESS = 0.03
ALIKE = 0.95
"""A passage as close as this to the right one may answer too."""
BACKWARD = 0.3
"""Weight of finding the question for a passage."""
FILL = 128
TEXTS = 3


@dataclass(frozen=True, slots=True)
class Step:
    """Texts one after the other: question, right passage, wrong passage, and so on."""

    ids: Integers
    bounds: Integers
    passages: Integers
    """(questions, 2): numbers of the right and the wrong one."""

    def on(self, device: str) -> tuple[Rows, Tensor]:
        """As the model reads them, and the row of each token."""
        lengths = np.diff(self.bounds)
        row = np.repeat(np.arange(len(lengths)), lengths)
        position = np.arange(len(self.ids)) - self.bounds[row]
        longest = -(-int(lengths.max()) // 8) * 8
        ids, rows, places = (
            torch.from_numpy(one.astype(np.int64)).to(device) for one in (self.ids, row, position)
        )
        bounds = torch.from_numpy(self.bounds.astype(np.int32)).to(device)
        slot, real = rows * longest + places, TEXTS * len(self.passages)
        kinds = torch.zeros_like(ids)
        return Rows(ids, kinds, places, bounds, slot, len(lengths), real, longest), rows


def steps(pairs: Pairs, mix: Mapping[str, float], *, tokens: int, seed: int) -> Iterator[Step]:
    random, names = np.random.default_rng(seed), pairs.sources.tolist()
    groups = {one: np.flatnonzero(pairs.source == names.index(one)) for one in mix if one in names}
    groups = {one: found for one, found in groups.items() if len(found)}
    likely = np.array([mix[one] for one in groups])
    likely /= likely.sum()
    while True:
        texts: list[Integers] = []
        passages: list[tuple[int, int]] = []
        used = 0
        while True:
            group = int(random.choice(groups[random.choice(list(groups), p=likely)]))
            rows = np.arange(pairs.groups[group], pairs.groups[group + 1])
            right = rows[pairs.kind[rows] == POSITIVE]
            wrong = rows[pairs.kind[rows] == NEGATIVE][:HARDER]
            if not len(right) or not len(wrong):
                continue
            one, other = int(random.choice(right)), int(random.choice(wrong))
            three = (
                _text(pairs, int(pairs.question[one]), QUESTION_TOKENS),
                _text(pairs, int(pairs.passage[one]), PASSAGE_TOKENS),
                _text(pairs, int(pairs.passage[other]), PASSAGE_TOKENS),
            )
            used += sum(map(len, three))
            if used > tokens:
                break
            texts += three
            passages.append((int(pairs.passage[one]), int(pairs.passage[other])))
        yield _packed(texts, np.array(passages), tokens)


def _text(pairs: Pairs, number: int, most: int) -> Integers:
    start, end = pairs.bounds[number], pairs.bounds[number + 1]
    return np.array([CLS, *pairs.tokens[start : min(end, start + most)], SEP])


def _packed(texts: list[Integers], passages: Integers, tokens: int) -> Step:
    """Filled up to `tokens`, so that every step has the same shape."""
    left = tokens - sum(map(len, texts))
    fill = [np.zeros(min(FILL, left - at), np.int64) for at in range(0, left, FILL)]
    bounds = np.cumsum([0, *map(len, texts), *map(len, fill)])
    return Step(np.concatenate([*texts, *fill]), bounds, passages)


def vectors(
    weights: Parameters, rows: Rows, row: Tensor, engine: Engine, *, dropout: float = 0.0
) -> Tensor:
    """The mean of each text's tokens, of length one, as the product computes it."""
    *_, state = states(weights, rows, engine, dropout=dropout)
    total = torch.zeros(rows.count, state.shape[-1], device=state.device)
    return functional.normalize(total.index_add(0, row, state.float()), dim=-1)[: rows.real]


def contrast(found: Tensor, passages: Integers) -> tuple[Tensor, Tensor]:
    """The loss, and the share of questions that are closest to their own passage."""
    asked, right, wrong = (found[at::TEXTS] for at in range(TEXTS))
    every, own = torch.cat([right, wrong]), torch.arange(len(right), device=found.device)
    numbers = torch.from_numpy(passages.T.reshape(-1)).to(found.device)
    unclear = (right @ every.T > ALIKE) | (numbers[: len(right), None] == numbers)
    unclear[own, own] = False
    close = (asked @ every.T / SHARPNESS).masked_fill(unclear, -1e4)
    back = (right @ asked.T / SHARPNESS).masked_fill(unclear[:, : len(right)], -1e4)
    loss = functional.cross_entropy(close, own)
    loss = loss + BACKWARD * functional.cross_entropy(back, own)
    return loss, (close.argmax(1) == own).float().mean()


def train(
    weights: Parameters, given: Iterator[Step], recipe: Recipe, engine: Engine, clock: Clock
) -> Parameters:
    """Train in place; returns the averaged weights."""
    optimise, averaged = optimiser(weights, engine), Averaged(weights, recipe.average)
    step = 0
    while not clock.over(step):
        for group in optimise.param_groups:
            group["lr"] = learning_rate(recipe, step, clock.total)
        one = next(given)
        rows, row = one.on(engine.device)
        found = vectors(weights, rows, row, engine, dropout=recipe.dropout)
        loss, right = contrast(found, one.passages)
        optimise.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(weights.values()), recipe.clip)
        optimise.step()
        averaged.step(step)
        step += 1
        clock.plan(step)
        if step % recipe.every == 0:
            say(step=step, loss=round(loss.item(), 4), right=round(right.item(), 4))
    say(steps=step)
    return averaged.weights()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--base", type=Path, required=True, help="what training.weights_in wrote")
    parser.add_argument("--save", type=Path, required=True, help="folder for the checkpoint")
    parser.add_argument("--minutes", type=float, default=3.6)
    parser.add_argument("--steps", type=int, default=0, help="instead of --minutes")
    parser.add_argument("--mix", type=shares, default=MIX, help="questions by source")
    for name in OPTIONS:
        value = getattr(RECIPE, name)
        parser.add_argument(f"--{name}", type=type(value), default=value)
    began, given = time.monotonic(), parser.parse_args()
    recipe = replace(RECIPE, **{name: getattr(given, name) for name in OPTIONS})
    torch.manual_seed(recipe.seed)
    engine = find_engine()
    base = load_base(given.base)
    weights = parameters(
        {name: one for name, one in base.items() if not name.startswith("pooler.")}, engine.device
    )
    pairs = cached_pairs(given.work, given.data, "train")
    batches = ahead(steps(pairs, given.mix, tokens=recipe.tokens, seed=recipe.seed))
    clock = Clock(steps=given.steps, seconds=60 * given.minutes, engine=engine, began=began)
    save_checkpoint(arrays_of(train(weights, batches, recipe, engine, clock)), given.save)


if __name__ == "__main__":
    main()
