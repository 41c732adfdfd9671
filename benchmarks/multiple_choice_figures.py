"""What rows of multiple choice come to: accuracy, differences, whose errors they are, flips."""

from __future__ import annotations

from collections import Counter
from statistics import fmean
from typing import TYPE_CHECKING, Any

from secondlook.evaluation.statistics import interval, paired

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Row = Mapping[str, Any]
    Rows = Mapping[str, Sequence[Row]]

SEED = 0
ELSE_ALONE = "research, else alone"
"""Where research chose nothing, the letter of the model alone: what `research.guess` comes to."""
PAIRS = (
    ("alone", "plain"),
    ("alone", "research"),
    ("plain", "research"),
    ("alone", ELSE_ALONE),
    ("plain", ELSE_ALONE),
    ("alone", "gold"),
    ("research", "gold"),
)


def figures(rows: Rows) -> dict[str, Any]:
    every = {**rows, **_else_alone(rows)}
    return {
        "conditions": {name: condition(found) for name, found in every.items() if found},
        "differences": [
            {"base": base, "other": other, **difference(every[base], every[other])}
            for base, other in PAIRS
            if every.get(base) and every.get(other)
        ],
        "errors": errors(rows.get("gold", ()), rows.get("research", ())),
    }


def _else_alone(rows: Rows) -> dict[str, Sequence[Row]]:
    alone = {row["case"]: row for row in rows.get("alone", ())}
    found = rows.get("research", ())
    searched = any(row["gold_shown"] is not None for row in found)
    # Without a corpus research has guessed already.
    if not alone or not searched or all(row["letter"] is not None for row in found):
        return {}
    joined = [
        {**alone[row["case"]], "calls": row["calls"] + alone[row["case"]]["calls"]}
        if row["letter"] is None and row["case"] in alone
        else row
        for row in found
    ]
    return {ELSE_ALONE: joined}


def condition(rows: Sequence[Row]) -> dict[str, Any]:
    subjects = sorted({row["subject"] for row in rows})
    gold = [row["gold_shown"] for row in rows if row["gold_shown"] is not None]
    return {
        "accuracy": accuracy(rows),
        "by_subject": {
            name or "not told": accuracy([row for row in rows if row["subject"] == name])
            for name in subjects
        },
        "chosen": round(fmean(row["letter"] is not None for row in rows), 4),
        "ungrounded": sum(row["letter"] is not None and not row["grounded"] for row in rows),
        "calls": round(fmean(row["calls"] for row in rows), 3),
        "most_calls": max(row["calls"] for row in rows),
        "characters_in": round(fmean(row["characters_in"] for row in rows), 1),
        "characters_out": round(fmean(row["characters_out"] for row in rows), 1),
        "seconds": round(fmean(row["seconds"] for row in rows), 2),
        "gold_shown": round(fmean(gold), 4) if gold else None,
        "steps": round(fmean(row["steps"] for row in rows), 3),
        "statuses": dict(Counter(row["status"] for row in rows)),
        "letters": dict(sorted(Counter(row["letter"] or "none" for row in rows).items())),
    }


def accuracy(rows: Sequence[Row]) -> dict[str, Any]:
    """With Wilson's interval."""
    found = interval([float(row["right"]) for row in rows], SEED, yes_no=True)
    numbers = {"value": found.value, "low": found.low, "high": found.high}
    return {name: None if one is None else round(one, 4) for name, one in numbers.items()} | {
        "n": found.n
    }


def difference(base: Sequence[Row], other: Sequence[Row]) -> dict[str, Any]:
    """On the questions that both were asked, by McNemar's exact test."""
    before = {row["case"]: float(row["right"]) for row in base}
    after = {row["case"]: float(row["right"]) for row in other}
    both = sorted(set(before) & set(after))
    found = paired([before[case] for case in both], [after[case] for case in both], yes_no=True)
    return {
        "n": len(both),
        "difference": round(found.difference, 4),
        "low": round(found.low, 4),
        "high": round(found.high, 4),
        "p": round(found.p, 6),
        "improved": found.improved,
        "same": found.same,
        "degraded": found.degraded,
    }


def errors(gold: Sequence[Row], research: Sequence[Row]) -> dict[str, Any] | None:
    """Whose fault: with the gold passages it would have been right, or not even then."""
    with_gold = {row["case"]: row["right"] for row in gold}
    known = [row for row in research if row["case"] in with_gold]
    if not known:
        return None
    wrong = [row for row in known if not row["right"]]
    return {
        "questions": len(known),
        "right": len(known) - len(wrong),
        "retrieval": sum(with_gold[row["case"]] for row in wrong),
        "selection": sum(not with_gold[row["case"]] for row in wrong),
        "right_in_spite_of_selection": sum(
            row["right"] and not with_gold[row["case"]] for row in known
        ),
    }


def flips(rows: Sequence[Row]) -> dict[str, Any]:
    """How often repetitions of a question differ from its most frequent letter."""
    letters: dict[str, list[str | None]] = {}
    for row in rows:
        letters.setdefault(row["case"], []).append(row["letter"])
    flipped = {case: 1 - _most(found) / len(found) for case, found in letters.items()}
    share = interval([float(value > 0) for value in flipped.values()], SEED, yes_no=True)
    return {
        "questions": len(letters),
        "repeats": max(map(len, letters.values()), default=0),
        "flipping_questions": sum(value > 0 for value in flipped.values()),
        "share_flipping": [share.value, share.low, share.high],
        "mean_share_of_other_letters": round(fmean(flipped.values()), 4) if flipped else None,
        "accuracy": accuracy(rows),
    }


def _most(letters: Sequence[str | None]) -> int:
    return Counter(letters).most_common(1)[0][1]


def table(content: Mapping[str, Any]) -> str:
    lines = [
        "| condition | accuracy (95 %) | chosen | calls | gold shown |",
        "|---|---|---|---|---|",
    ]
    for name, one in content["conditions"].items():
        found = one["accuracy"]
        gold = "" if one["gold_shown"] is None else f"{one['gold_shown']:.2f}"
        lines.append(
            f"| {name} | {found['value']:.3f} ({found['low']:.3f} to {found['high']:.3f}, "
            f"n {found['n']}) | {one['chosen']:.2f} | {one['calls']:.2f} | {gold} |"
        )
    return "\n".join(lines)
