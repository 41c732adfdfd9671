"""What a trained understander writes instead of the right form: rows for the reader to tell apart.

    python -m training.understander.instead --rows rows.jsonl.gz --start FOLDER --out written.jsonl

`--start` holds `weights.npz` and `tokenizer.json`. Forms are drawn by chance, so that a model that
knows its rows errs as it would on others; where a table holds no answer, it is made to write one.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from tokenizers import Tokenizer

from secondlook.reading.understander import LONGEST_GIVEN
from training.understander.model import END, PAD
from training.understander.train import HELD_OUT, begun

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from training.understander.model import Understander

TASK = "query: "
LONGEST = 64


def drawn(
    model: Understander, given: Sequence[Sequence[int]], heat: float, barred: Sequence[int]
) -> list[list[int]]:
    """Texts of one length each; `barred` tokens do not come first."""
    device = model.embed.weight.device
    ids = torch.tensor(given, device=device)
    shape, count = model.shape, len(given)
    remembered = model.remembered(model.read(ids))
    empty = torch.zeros(count, shape.heads, 0, shape.head, device=device, dtype=remembered[0].dtype)
    past = [empty for _ in range(2 * shape.decoder)]
    token = torch.full((count, 1), PAD, device=device)
    done = torch.zeros(count, dtype=torch.bool, device=device)
    said = []
    for at in range(LONGEST):
        scores, *past = model.step(token, remembered, past)
        scores = scores.float()
        if at == 0 and barred:
            scores[:, list(barred)] = -torch.inf
        token = torch.multinomial(torch.softmax(scores / heat, -1), 1)
        token = torch.where(done[:, None], PAD, token)
        said.append(token)
        done |= token[:, 0] == END
        if bool(done.all()):
            break
    return [[one for one in row if one not in (PAD, END)] for row in torch.cat(said, 1).tolist()]


@dataclass(frozen=True, slots=True)
class Asked:
    given: str
    wanted: str
    ids: list[int]


def asked(file: Path, tokenizer: Tokenizer, most: int) -> list[Asked]:
    """All questions over tables that are held out, and so many others, drawn by chance."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if row[0].startswith(TASK)]
    held = [row for row in rows if row[2].endswith(HELD_OUT)]
    made = [row for row in rows if not row[2].endswith(HELD_OUT)]
    random.Random(7).shuffle(made)  # noqa: S311
    chosen = [*held, *made[:most]]
    ids = [one.ids[:LONGEST_GIVEN] for one in tokenizer.encode_batch([row[0] for row in chosen])]
    return [Asked(row[0], row[1], one) for row, one in zip(chosen, ids, strict=True)]


def blocks(rows: Sequence[Asked], most: int) -> Iterator[list[Asked]]:
    """Rows of one length together: nothing is padded."""
    by_length: dict[int, list[Asked]] = defaultdict(list)
    for row in rows:
        by_length[len(row.ids)].append(row)
    for some in by_length.values():
        for at in range(0, len(some), most):
            yield some[at : at + most]


def main(arguments: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--rows", type=Path, required=True)
    options.add_argument("--start", type=Path, required=True, help="a trained model")
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--most", type=int, default=40_000, help="rows, drawn by chance")
    options.add_argument("--heat", type=float, default=1.3)
    options.add_argument("--at-once", type=int, default=256)
    options.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    given = options.parse_args(arguments)
    torch.manual_seed(7)
    tokenizer = Tokenizer.from_file(str(given.start / "tokenizer.json"))
    none = tokenizer.encode("none").ids[0]
    rows = asked(given.rows, tokenizer, given.most)
    model = begun(given.start / "weights.npz", "start", 0.0).to(given.device).eval()
    count = 0
    with (
        torch.no_grad(),
        torch.autocast(given.device, torch.bfloat16, enabled=given.device == "cuda"),
        given.out.open("w", encoding="utf-8") as out,
    ):
        for heat, barred in ((given.heat, ()), (0.7, (none,))):
            for block in blocks(rows, given.at_once):
                texts = drawn(model, [row.ids for row in block], heat, barred)
                for row, said in zip(block, map(tokenizer.decode, texts), strict=True):
                    if said != row.wanted:
                        told = [row.given, said]
                        out.write(json.dumps(told, ensure_ascii=False) + "\n")
                        count += 1
    sys.stdout.write(f"{count} of {2 * len(rows)} are others\n")


if __name__ == "__main__":
    main()
