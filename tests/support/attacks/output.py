"""Attacks on whoever reads what comes out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.sandbox.self_check import Attack

if TYPE_CHECKING:
    from secondlook.sandbox.self_check import Evidence


def too_much_said(evidence: Evidence) -> str | None:
    """More came back than allowed."""
    outcome, limits = evidence.outcome, evidence.attack.limits
    if outcome is None:
        return None
    if len(outcome.stdout) > limits.stdout_bytes:
        return f"{len(outcome.stdout):,} characters of output came back"
    drawn = sum(len(figure.data) for figure in outcome.figures)
    if drawn > limits.reply_bytes or len(repr(outcome.result)) > 2 * limits.reply_bytes:
        return "a reply above the limit came back"
    return None


def forged(evidence: Evidence) -> str | None:
    outcome = evidence.outcome
    if outcome is None:
        return None
    taken = f"forged {evidence.mark}" in f"{outcome.result!r}{outcome.figures!r}{outcome.frames!r}"
    return "a reply that the code wrote itself was taken for the sandbox's" if taken else None


_FLOOD = """
import os

block = "x" * 1_000_000
for _ in range(world["megabytes"]):
    print(block)
"""
_FORGED = """
import json, os, struct

reply = {"status": "ok", "has_result": True, "result": "forged " + world["mark"], "figures": []}
text = json.dumps(reply | {"memory": 0, "token": "0" * 32}).encode()
for number in range(3, 256):
    try:
        os.write(number, struct.pack(">Q", len(text)) + text)
    except OSError:
        pass
"""
_DEEP = """
result = []
for _ in range(world["depth"]):
    result = [result]
"""
_FIGURE = """
import numpy
import plotly.graph_objects as go

points = numpy.random.default_rng(0).normal(size=world["points"])
fig = go.Figure(go.Scatter(x=points, y=points))
"""
_LONG_ERROR = """
raise ValueError("x" * (world["megabytes"] * 1_000_000))
"""
_ENDLESS_VALUE = """
class Endless(list):
    def __iter__(self):
        while True:
            yield 1

result = Endless([1])
"""
_PICKLE = """
import os, pickle

class Bomb:
    def __reduce__(self):
        return (os.mkdir, (os.path.join(world["outside"], "unpickled"),))

result = Bomb()
for number in range(3, 256):
    try:
        os.write(number, pickle.dumps(Bomb()))
    except OSError:
        pass
os._exit(0)
"""

OUTPUT = (
    Attack("2 GB of output", _FLOOD, (too_much_said,), {"megabytes": 2_000}),
    Attack("forged reply", f"{_FORGED}os._exit(0)\n", (forged,), provable=False),
    Attack("deep value", _DEEP, (too_much_said,), {"depth": 100_000}, provable=False),
    Attack("huge figure", _FIGURE, (too_much_said,), {"points": 2_000_000}, provable=False),
    Attack("long error", _LONG_ERROR, sizes={"megabytes": 100}, provable=False),
    Attack("endless value", _ENDLESS_VALUE, provable=False),
    Attack("pickle", _PICKLE, provable=False),
    Attack("second reply", _FORGED, (forged,), provable=False),
)
