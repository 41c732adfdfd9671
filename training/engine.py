"""The fastest way to compute that gives right numbers on this machine."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from training.model import (
    HEADS,
    Engine,
    Rows,
    attend_flash,
    attend_packed,
    attend_padded,
    forward,
)

if TYPE_CHECKING:
    from training.model import Attend, Parameters

TOLERANCE = 0.03
COMPILED = " compiled"
ATTENTIONS: dict[str, Attend] = {
    "packed": attend_packed,
    "flash": attend_flash,
    "padded": attend_padded,
}


def find_engine(*, attention: str = "auto", compiled: bool | None = None) -> Engine:
    """On a GPU bfloat16, compiled, with packed attention; elsewhere plain float32."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu":
        return Engine(device, torch.float32, attend_padded, compiled=False, name="cpu padded")
    torch.backends.cuda.matmul.allow_tf32 = True
    name = _working_attention(device) if attention == "auto" else attention
    compiled = True if compiled is None else compiled
    label = f"{torch.cuda.get_device_name()} {name}{COMPILED if compiled else ''}"
    return Engine(device, torch.bfloat16, ATTENTIONS[name], compiled=compiled, name=label)


def _working_attention(device: str) -> str:
    for name in ("packed", "flash"):
        if fault := _fault(ATTENTIONS[name], device):
            say(attention=name, refused=fault)
        else:
            return name
    return "padded"


def _fault(attend: Attend, device: str) -> str | None:
    """Why an attention cannot be used: values or gradients differ from the plain one's."""
    generator = torch.Generator().manual_seed(1)
    heads = torch.randn(100, 3, HEADS, 32, generator=generator).to(device, torch.bfloat16)
    rows = _trial_rows(device)
    try:
        made = [_with_gradient(way, heads, rows) for way in (attend, attend_padded)]
    except Exception as failure:  # noqa: BLE001 whatever it is, there is another way
        return f"{type(failure).__name__}: {failure}"[:300]
    pairs = zip(*made, strict=True)
    worst = max(float((a - b).abs().max() / b.abs().max()) for a, b in pairs)
    return None if worst < TOLERANCE else f"differs by {worst:.3f} of the largest value"


def _trial_rows(device: str) -> Rows:
    bounds = torch.tensor([0, 37, 40, 100], dtype=torch.int32, device=device)
    row = torch.bucketize(torch.arange(100, device=device), bounds[1:].long(), right=True)
    position = torch.arange(100, device=device) - bounds.long()[row]
    nothing = torch.zeros(100, dtype=torch.long, device=device)
    return Rows(nothing, nothing, position, bounds, row * 64 + position, 3, 3, 64)


def _with_gradient(attend: Attend, heads: Any, rows: Rows) -> tuple[Any, Any]:
    given = heads.clone().requires_grad_()
    made = attend(given, rows)
    made.float().square().sum().backward()
    return made.detach().float(), given.grad.float()


def settled(weights: Parameters, rows: Rows, engine: Engine) -> Engine:
    """The engine, or the same without compiling where that does not work."""
    try:
        speed = tokens_per_second(weights, rows, engine, steps=3)
    except Exception as failure:
        if not engine.compiled:
            raise
        say(compiled="refused", why=f"{type(failure).__name__}: {failure}"[:300])
        return replace(engine, compiled=False, name=engine.name.removesuffix(COMPILED))
    say(tokens_per_second=round(speed))
    return engine


def tokens_per_second(weights: Parameters, rows: Rows, engine: Engine, *, steps: int) -> float:
    """Forward and backward, without the optimiser."""
    began = 0.0
    for step in range(steps + 3):
        if step == 3:  # noqa: PLR2004 the first ones compile and warm up
            synchronise(engine)
            began = time.monotonic()
        outputs = forward(weights, rows, engine, dropout=0.1)
        parts = (outputs.start[:, 0], outputs.relevance, outputs.answerable, outputs.support)
        sum(part.mean() for part in parts).backward()
    synchronise(engine)
    for weight in weights.values():
        weight.grad = None
    return steps * len(rows.ids) / (time.monotonic() - began)


def synchronise(engine: Engine) -> None:
    if engine.device != "cpu":
        torch.cuda.synchronize()


def say(**facts: Any) -> None:
    """One line of progress with the time it was said."""
    line = json.dumps({"at": time.strftime("%H:%M:%S"), **facts})
    print(line, flush=True)  # noqa: T201
