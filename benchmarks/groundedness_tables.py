"""The tables of docs/verify.md, as the results have them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    Found = Mapping[str, Any]

_BLOCK = re.compile(
    r"(?P<begin><!-- begin (?P<name>[a-z]+) -->\n).*?(?P<end><!-- end (?P=name) -->)", re.DOTALL
)
_JUDGES = {
    "judge": "the judge (`reader`)",
    "coverage": "`coverage`",
    "word overlap": "share of words",
    "embedding similarity": "cosine of the embedder",
    "length": "length alone",
    "majority": "majority",
}


def fill(page: Path, found: Found) -> None:
    """Write the tables into the page, each between its marks."""

    def block(mark: re.Match[str]) -> str:
        try:
            made = TABLES[mark["name"]](found)
        except KeyError:
            made = "*Not measured yet: `python -m benchmarks.groundedness`.*"
        return f"{mark['begin']}{made}\n{mark['end']}"

    page.write_text(_BLOCK.sub(block, page.read_text("utf-8")), "utf-8")


def judgements(found: Found) -> str:
    sets = {
        **found["judgements"],
        "HaluEval QA, lengths matched": found["halueval, lengths matched"],
    }
    rows = []
    for name, one in sets.items():
        told = f"{name}, {one['n']:,} ({one['supported']:,} supported)"
        for key, label in _JUDGES.items():
            if key in one:
                rows.append([told, label, *_figures(one[key])])
                told = ""
    heads = ["set", "judged by", "balanced accuracy", "supported kept", "others stopped", "AUROC"]
    return _table([*heads, "best threshold of the set itself"], rows)


def _figures(one: Found) -> list[str]:
    names = ("balanced_accuracy", "supported_kept", "unsupported_stopped", "auroc")
    oracle = "balanced_accuracy_with_oracle_threshold"
    return [f"{one[name]:.3f}" if name in one else "" for name in (*names, oracle)]


def pairs(found: Found) -> str:
    made = found["minimal pairs"]
    rows = [
        [kind, str(one["n"]), *(f"{one[name]:.3f}" for name in _PAIR), _of(made, "coverage", kind)]
        for kind, one in made["judge"].items()
    ]
    heads = ["changed", "pairs", "balanced accuracy", "both right", "true one above"]
    return _table([*heads, "`coverage`: both right"], rows)


_PAIR = ("balanced_accuracy", "both_right", "true_above_changed")


def _of(made: Found, judge: str, kind: str) -> str:
    return f"{made[judge][kind]['both_right']:.3f}"


def answers(found: Found) -> str:
    made = found["falsified answers"]
    rows = []
    for part, title in (("falsified_caught", "caught"), ("false_alarms", "false alarm")):
        ours, theirs = made["judge"][part], made["coverage"][part]
        rows.append(
            [f"**{title}, all**", f"{ours['n']}", f"{ours['share']:.3f}", f"{theirs['share']:.3f}"]
        )
        for kind, one in ours["by_kind"].items():
            words = theirs["by_kind"][kind]["share"]
            rows.append([f"{title}: {kind}", f"{one['n']}", f"{one['share']:.3f}", f"{words:.3f}"])
    return _table(["answers", "number", "`reader`", "`coverage`"], rows)


TABLES: dict[str, Callable[[Found], str]] = {
    "judgements": judgements,
    "pairs": pairs,
    "answers": answers,
}


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
