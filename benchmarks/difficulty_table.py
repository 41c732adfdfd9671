"""The table of `difficulty`: each level with its workflows, and whether they differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

COLUMNS = ("success", "f1", "recall@5")
SIGNIFICANT = 0.05


def markdown(found: Mapping[str, Any]) -> str:
    """Rows by level and workflow; differences with their 95 % intervals, in points."""
    lines = [
        "| level | workflow | questions | success | F1 | recall@5 |",
        "|---|---|---|---|---|---|",
    ]
    for level, told in found["levels"].items():
        for name, one in told["configurations"].items():
            cells = " | ".join(_figure(one["metrics"], column) for column in COLUMNS)
            lines.append(f"| {level} | {name} | {told['questions']} | {cells} |")
        for other in found["workflows"][1:]:
            changes = {one["metric"]: one for one in told["differences"] if _is_whole(one, other)}
            cells = " | ".join(_change(changes.get(column)) for column in COLUMNS)
            lines.append(f"| {level} | difference | | {cells} |")
    return "\n".join([*lines, "", verdict(found), ""])


def verdict(found: Mapping[str, Any]) -> str:
    """Whether anything is lost on easy questions."""
    easy = found["levels"].get("easy")
    if easy is None:
        return "The easy level was not asked."
    lost = [one["metric"] for one in easy["differences"] if one["part"] == "all" and is_loss(one)]
    return (
        f"On easy questions there is a significant loss of {', '.join(lost)}."
        if lost
        else "On easy questions there is no significant loss."
    )


def is_loss(difference: Mapping[str, Any]) -> bool:
    return bool(difference["difference"] < 0 and difference["p"] < SIGNIFICANT)


def _is_whole(difference: Mapping[str, Any], other: str) -> bool:
    return bool(difference["part"] == "all" and difference["other_name"] == other)


def _figure(metrics: Mapping[str, Any], name: str) -> str:
    return f"{metrics[name]['value']:.3f}" if name in metrics else "-"


def _change(difference: Mapping[str, Any] | None) -> str:
    if difference is None:
        return "-"
    change, low, high = (100 * difference[name] for name in ("difference", "low", "high"))
    return f"{change:+.1f} ({low:+.1f} to {high:+.1f})"
