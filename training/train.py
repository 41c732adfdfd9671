"""Train a reader within a given time.

    python -m training.train --data .cache/training/in --work DIR --base IN/base.npz \\
        --minutes 8 --seed 1 --save DIR/a

`--steps` instead of `--minutes` makes a run repeatable to the step. With `--teacher` (see
`training.teach`) a student learns from teachers as well as from the labels; with `--layers 6` it
keeps every second layer of what it starts from.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import queue
import threading
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from training.batches import Mix, Sampler
from training.encode import cached_pairs, describe, every_nth_group
from training.engine import (
    ATTENTIONS,
    find_engine,
    say,
    settled,
    synchronise,
    tokens_per_second,
)
from training.losses import label_losses, targets_on, teacher_losses, total
from training.model import arrays_of, forward, parameters, rows_on
from training.score import evaluate
from training.teach import load, scored_hardness
from training.weights_in import save_checkpoint, starting_weights

if TYPE_CHECKING:
    from collections.abc import Iterator

    from training.batches import Batch
    from training.model import Engine, Parameters, Tensor
    from training.teach import Taught

Made = TypeVar("Made")
BETAS = (0.9, 0.98)
WEIGHT_DECAY = 0.01
PLANNED_AT = (40, 120, 400, 1500)
"""Steps at which the number of steps is planned from the speed so far."""
DEFAULT_MIX = {"squad": 0.81, "hotpot": 0.04, "subjqa": 0.01, "support": 0.14}


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything that decides what comes out, but the data."""

    layers: int = 12
    seed: int = 1
    tokens: int = 65_536
    rate: float = 1.5e-4
    warmup: int = 300
    dropout: float = 0.1
    average: float = 0.999
    clip: float = 1.0
    every: int = 200
    """Steps between two lines of progress."""
    taught: float = 0.7
    """Of the loss, what comes from the teachers, where there are any."""


class Clock:
    """Turns the time that is left into a number of steps."""

    def __init__(self, *, steps: int, seconds: float, engine: Engine, began: float) -> None:
        self.total = steps or 1_000_000
        self._fixed, self._end, self._engine = bool(steps), began + seconds, engine
        self._mark = (0, time.monotonic())
        self.taken = 0

    def plan(self, step: int) -> None:
        if self._fixed or step not in PLANNED_AT:
            return
        synchronise(self._engine)
        now = time.monotonic()
        done, since = step - self._mark[0], now - self._mark[1]
        left = max(self._end - now, 0.0)
        # The first steps compile and warm up: they only set the mark to measure from.
        if step != PLANNED_AT[0]:
            self.total = step + max(int(left * done / since), 1)
            say(step=step, planned=self.total, per_second=round(done / since, 2))
        self._mark = (step, now)

    def over(self, step: int) -> bool:
        late = not self._fixed and time.monotonic() > self._end
        return step >= self.total or late


def learning_rate(recipe: Recipe, step: int, steps: int) -> float:
    """Up in a straight line, then down along a cosine."""
    if step < recipe.warmup:
        return recipe.rate * (step + 1) / recipe.warmup
    done = min((step - recipe.warmup) / max(steps - recipe.warmup, 1), 1.0)
    return recipe.rate * 0.5 * (1 + math.cos(math.pi * done))


def ahead(batches: Iterator[Made], depth: int = 16) -> Iterator[Made]:
    """Batches made in another thread while the device computes. What fails there fails here."""
    ready: queue.Queue[Made | Exception] = queue.Queue(maxsize=depth)

    def produce() -> None:
        try:
            for batch in batches:
                ready.put(batch)
        except Exception as failure:  # noqa: BLE001 raised where the batch is asked for
            ready.put(failure)

    threading.Thread(target=produce, daemon=True).start()
    while True:
        made = ready.get()
        if isinstance(made, Exception):
            raise made
        yield made


def optimiser(weights: Parameters, engine: Engine) -> Any:
    decayed = [value for value in weights.values() if value.ndim > 1]
    plain = [value for value in weights.values() if value.ndim <= 1]
    groups = [
        {"params": decayed, "weight_decay": WEIGHT_DECAY},
        {"params": plain, "weight_decay": 0},
    ]
    return torch.optim.AdamW(groups, lr=1e-4, betas=BETAS, fused=engine.device != "cpu")


class Averaged:
    """The running mean of the weights, which reads better than the last ones."""

    def __init__(self, weights: Parameters, keep: float) -> None:
        self._live = list(weights.values())
        self._names = list(weights)
        self._mean = [value.detach().clone() for value in self._live]
        self._keep = keep

    def step(self, step: int) -> None:
        keep = min(self._keep, (1 + step) / (10 + step))
        with torch.no_grad():
            torch._foreach_lerp_(self._mean, self._live, 1 - keep)

    def weights(self) -> Parameters:
        return dict(zip(self._names, self._mean, strict=True))


def train(
    weights: Parameters,
    batches: Iterator[Batch],
    recipe: Recipe,
    engine: Engine,
    clock: Clock,
    *,
    loss_weights: dict[str, float],
    teacher: Taught | None = None,
) -> Parameters:
    """Train in place; returns the averaged weights."""
    optimise, averaged = optimiser(weights, engine), Averaged(weights, recipe.average)
    seen: dict[str, Tensor] = {}
    step = 0
    while not clock.over(step):
        rate = learning_rate(recipe, step, clock.total)
        for group in optimise.param_groups:
            group["lr"] = rate
        losses = _losses(weights, next(batches), recipe, engine, teacher)
        optimise.zero_grad(set_to_none=True)
        total(losses, loss_weights).backward()
        torch.nn.utils.clip_grad_norm_(list(weights.values()), recipe.clip)
        optimise.step()
        averaged.step(step)
        step += 1
        seen = {name: seen.get(name, 0) + loss.detach() for name, loss in losses.items()}
        clock.plan(step)
        if step % recipe.every == 0:
            means = {name: round(float(loss) / recipe.every, 4) for name, loss in seen.items()}
            say(step=step, of=clock.total, rate=round(rate, 7), **means)
            seen = {}
    clock.taken = step
    say(steps=step, planned=clock.total)
    return averaged.weights()


def _losses(
    weights: Parameters, batch: Batch, recipe: Recipe, engine: Engine, teacher: Taught | None
) -> dict[str, Tensor]:
    rows, targets = rows_on(engine.device, batch), targets_on(engine.device, batch)
    outputs = forward(weights, rows, engine, dropout=recipe.dropout)
    losses = label_losses(outputs, targets)
    if teacher is None:
        return losses
    taught = teacher_losses(outputs, teacher.of(targets.pair, rows), targets)
    share = recipe.taught
    return {name: (1 - share) * loss + share * taught[name] for name, loss in losses.items()}


def shares(text: str) -> dict[str, float]:
    """ "squad=0.6,support=0.2" -> {"squad": 0.6, "support": 0.2}"""
    return {name: float(value) for name, value in (part.split("=") for part in text.split(","))}


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--base", type=Path, required=True, help="base.npz or a checkpoint")
    parser.add_argument("--save", type=Path, help="folder for the checkpoint")
    parser.add_argument("--minutes", type=float, default=8, help="for the whole command")
    parser.add_argument("--reserve", type=float, default=30, help="seconds to score and save")
    parser.add_argument("--steps", type=int, default=0, help="instead of --minutes")
    parser.add_argument("--groups", type=int, default=0, help="train on about so many, for a trial")
    parser.add_argument("--mix", type=shares, default=None, help="tokens by source: squad=0.6,...")
    parser.add_argument("--loss", type=shares, default={}, help="weights: span=1,relevance=1,...")
    parser.add_argument(
        "--glances", type=int, nargs="*", default=(), help="layers after which a head glances"
    )
    parser.add_argument("--negatives", type=int, default=4)
    parser.add_argument("--harder", type=int, default=12)
    parser.add_argument("--unanswerable", type=int, default=2)
    parser.add_argument("--teacher", type=Path, help="what training.teach wrote")
    parser.add_argument("--hardness", type=Path, help="the same, only to choose negatives by")
    parser.add_argument(
        "--attention", default="auto", choices=("auto", "packed", "flash", "padded")
    )
    parser.add_argument("--no-compile", dest="compiled", action="store_const", const=False)
    parser.add_argument("--measure", action="store_true", help="speeds of this machine, then stop")
    for name, value in asdict(Recipe()).items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    return parser


def main() -> None:
    began = time.monotonic()
    given = options().parse_args()
    recipe = Recipe(**{name: getattr(given, name) for name in asdict(Recipe())})
    torch.manual_seed(recipe.seed)
    engine = find_engine(attention=given.attention, compiled=given.compiled)
    sampler = make_sampler(given, recipe, engine)
    start = starting_weights(
        given.base, layers=recipe.layers, seed=recipe.seed, glances=given.glances
    )
    weights = parameters(start, engine.device)
    if given.measure:
        measure(weights, next(iter(sampler)), engine)
        return
    batches = ahead(iter(sampler))
    if engine.device != "cpu":
        engine = settled(weights, rows_on(engine.device, next(batches)), engine)
    clock = Clock(
        steps=given.steps,
        seconds=given.minutes * 60 - given.reserve,
        engine=engine,
        began=began,
    )
    averaged = train(
        weights,
        batches,
        recipe,
        engine,
        clock,
        loss_weights=given.loss,
        teacher=load(given.teacher, engine.device) if given.teacher else None,
    )
    finish(given, recipe, engine, {"averaged": averaged, "last": weights}, steps=clock.taken)


def make_sampler(given: argparse.Namespace, recipe: Recipe, engine: Engine) -> Sampler:
    pairs = cached_pairs(given.work, given.data, "train")
    if given.groups:
        pairs = every_nth_group(pairs, given.groups)
    say(engine=engine.name, recipe=asdict(recipe), **describe(pairs))
    mix = Mix(
        shares=given.mix or DEFAULT_MIX,
        negatives=given.negatives,
        harder=given.harder,
        unanswerable=given.unanswerable,
    )
    sampler = Sampler(pairs, mix, tokens=recipe.tokens, seed=recipe.seed)
    if scored := given.teacher or given.hardness:
        sampler.hardness = scored_hardness(scored)
    return sampler


def finish(
    given: argparse.Namespace,
    recipe: Recipe,
    engine: Engine,
    ends: dict[str, Parameters],
    *,
    steps: int,
) -> None:
    """Score what came out, keep the averaged weights."""
    if given.save:
        save_checkpoint(arrays_of(ends["averaged"]), given.save)
        facts = {name: str(value) for name, value in vars(given).items()}
        made = {"recipe": asdict(recipe), "steps": steps, "engine": engine.name, "options": facts}
        text = json.dumps(made, indent=1)
        (given.save / "recipe.json").write_text(text, "utf-8")
        say(saved=str(given.save))
    dev = cached_pairs(given.work, given.data, "dev")
    plain = replace(engine, compiled=False)
    for name, weights in ends.items():
        evaluate(weights, dev, plain, which=name, save=str(given.save))


def measure(weights: Parameters, batch: Batch, engine: Engine) -> None:
    """Tokens per second of every way to compute that this machine has."""
    rows = rows_on(engine.device, batch)
    ways = list(ATTENTIONS) if engine.device != "cpu" else ["padded"]
    for name, compiled in itertools.product(ways, (False, True)):
        if compiled and engine.device == "cpu":
            continue
        way = replace(engine, attend=ATTENTIONS[name], compiled=compiled)
        try:
            speed = tokens_per_second(weights, rows, way, steps=10)
        except Exception as failure:  # noqa: BLE001 a way that does not work is an answer
            say(attention=name, compiled=compiled, failed=str(failure)[:300])
        else:
            say(attention=name, compiled=compiled, tokens_per_second=round(speed))


if __name__ == "__main__":
    main()
