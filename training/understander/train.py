"""Train the understander.

    python -m training.understander.train --rows rows.jsonl.gz --start FOLDER --out FOLDER

Minutes on one GPU; `--shape tiny` begins with small random weights for a processor. Prints how many
rows of each held-out kind are written exactly right.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import random
import shutil
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from tokenizers import Tokenizer
from torch.nn import functional as F  # noqa: N812 as everybody calls it

from secondlook.reading.understander import LONGEST_GIVEN, LONGEST_WRITTEN
from training.understander.model import END, PAD, Shape, Understander
from training.understander.packed import load, save

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Pair = tuple[list[int], list[int], str]

HELD_OUT = ("-dev", "-test")


def encoded(file: Path, tokenizer: Tokenizer) -> tuple[list[Pair], dict[str, list[Pair]]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    given = tokenizer.encode_batch([row[0] for row in rows])
    wanted = tokenizer.encode_batch([row[1] for row in rows])
    made: list[Pair] = []
    held: dict[str, list[Pair]] = defaultdict(list)
    for one, other, row in zip(given, wanted, rows, strict=True):
        pair = (one.ids[:LONGEST_GIVEN], other.ids[:LONGEST_WRITTEN], row[2])
        (held[row[2]] if row[2].endswith(HELD_OUT) else made).append(pair)
    return made, held


def batches(rows: Sequence[Pair], tokens: int, draw: random.Random) -> Iterator[list[Pair]]:
    """For ever; rows of like length together, so that little is padded."""
    while True:
        some = sorted(rows, key=lambda row: len(row[0]) + 2 * len(row[1]) + 12 * draw.random())
        made: list[list[Pair]] = [[]]
        for row in some:
            longest = max(len(row[0]), *(len(one[0]) for one in made[-1])) if made[-1] else 0
            if longest * (len(made[-1]) + 1) > tokens:
                made.append([])
            made[-1].append(row)
        draw.shuffle(made)
        yield from made


def padded(rows: Sequence[Sequence[int]], device: str) -> torch.Tensor:
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in rows], device=device)


def loss_of(model: Understander, batch: Sequence[Pair], device: str) -> torch.Tensor:
    given = padded([row[0] for row in batch], device)
    wanted = padded([row[1] for row in batch], device)
    written = F.pad(wanted, (1, 0), value=PAD)[:, :-1]
    counts = F.pad((wanted != PAD).float(), (1, 0), value=1.0)[:, :-1]
    scores = model(given, (given != PAD).float(), written).float()
    each = F.cross_entropy(scores.flatten(0, 1), wanted.flatten(), reduction="none")
    return (each * (wanted != PAD).flatten()).sum() / counts.sum()


def written(model: Understander, given: Sequence[Sequence[int]], device: str) -> list[list[int]]:
    """What the model writes, the likeliest token at every step."""
    ids = padded(given, device)
    mask = (ids != PAD).float()
    done = torch.zeros(len(given), dtype=torch.bool, device=device)
    text = torch.zeros(len(given), 1, dtype=torch.long, device=device)
    with torch.no_grad():
        for _ in range(LONGEST_WRITTEN):
            token = model(ids, mask, text)[:, -1].argmax(-1)
            text = torch.cat([text, torch.where(done, PAD, token)[:, None]], 1)
            done |= token == END
            if done.all():
                break
    return [[one for one in row if one not in (PAD, END)] for row in text.tolist()]


def exact(model: Understander, rows: Sequence[Pair], device: str) -> tuple[float, list[list[int]]]:
    said: list[list[int]] = []
    model.eval()
    for at in range(0, len(rows), 128):
        said += written(model, [row[0] for row in rows[at : at + 128]], device)
    right = [one == [t for t in row[1] if t != END] for one, row in zip(said, rows, strict=True)]
    model.train()
    return sum(right) / max(1, len(right)), said


def begun(start: Path, shape: str, dropout: float) -> Understander:
    if shape == "tiny":
        size = Tokenizer.from_file(str(start.parent / "tokenizer.json")).get_vocab_size()
        return Understander(Shape(size, 32, 64, 2, 16, 2, 1), dropout)
    tensors = load(start)
    layers = [name.split(".")[1] for name in tensors if name.startswith("decoder.")]
    model = Understander(Shape(len(tensors["embed.weight"]), decoder=len(set(layers))), dropout)
    model.load_state_dict({name: torch.from_numpy(one) for name, one in tensors.items()})
    return model


def trained(model: Understander, rows: Sequence[Pair], given: argparse.Namespace) -> None:
    device = given.device
    model.train()
    optimiser = torch.optim.AdamW(model.parameters(), lr=given.rate, weight_decay=0.01)
    drawn = batches(rows, given.tokens, random.Random(given.seed))  # noqa: S311
    began, seen = time.monotonic(), []
    for step in range(given.steps):
        warm = min(1.0, (step + 1) / max(1, given.warmup))
        spent = max(step / given.steps, (time.monotonic() - began) / given.seconds)
        rate = given.rate * warm * 0.5 * (1 + math.cos(math.pi * min(1.0, spent)))
        for group in optimiser.param_groups:
            group["lr"] = rate
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            loss = loss_of(model, next(drawn), device)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        seen.append(loss.detach())
        if step % 200 == 199 or step + 1 == given.steps:  # noqa: PLR2004
            mean = torch.stack(seen[-200:]).mean().item()
            _say(f"{step + 1} {mean:.4f} {time.monotonic() - began:.0f} s")
        if spent >= 1:
            _say("out of time")
            break


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(arguments: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=Path, required=True)
    options.add_argument("--start", type=Path, required=True)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--shape", choices=("start", "tiny"), default="start")
    options.add_argument("--steps", type=int, default=6000)
    options.add_argument("--tokens", type=int, default=24_000, help="of questions in one batch")
    options.add_argument("--rate", type=float, default=1e-3)
    options.add_argument("--warmup", type=int, default=200)
    options.add_argument("--dropout", type=float, default=0.05)
    options.add_argument("--seed", type=int, default=22)
    options.add_argument("--seconds", type=float, default=math.inf)
    options.add_argument("--held", type=int, default=1000, help="of each held-out kind at most")
    options.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    given = options.parse_args(arguments)
    torch.manual_seed(given.seed)
    tokenizer = Tokenizer.from_file(str(given.start / "tokenizer.json"))
    rows, held = encoded(given.rows, tokenizer)
    _say(f"{len(rows)} rows, held out { ({k: len(v) for k, v in held.items()}) }")
    model = begun(given.start / "start.npz", given.shape, given.dropout).to(given.device)
    trained(model, rows, given)
    given.out.mkdir(parents=True, exist_ok=True)
    shutil.copy(given.start / "tokenizer.json", given.out / "tokenizer.json")
    save(
        given.out / "weights.npz",
        {name: one.detach().float().cpu().numpy() for name, one in model.state_dict().items()},
    )
    told = {}
    with (given.out / "held.jsonl").open("w", encoding="utf-8") as out:
        for kind, some in held.items():
            told[kind], said = exact(model, some[: given.held], given.device)
            for row, one in zip(some, said, strict=False):
                out.write(json.dumps([kind, *map(tokenizer.decode, (row[0], row[1], one))]) + "\n")
    (given.out / "held.json").write_text(json.dumps(told, indent=1) + "\n", "utf-8")
    _say(json.dumps(told, indent=1))


if __name__ == "__main__":
    main()
