"""Does a form mean the question? Claims for the reader's second look at a reading over a table.

The question is the claim; the form in words, above the table as the understander saw it, is the
evidence. Wrong forms are right ones with one thing changed, and what an understander wrote instead.

Rows come from `training.understander.rows`, what was written instead from
`training.understander.instead`.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from training.data.chance import chance
from training.data.rows import FORMS, Claim

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from random import Random

    from training.data.rows import Part

SHOWN_COLUMN = re.compile(
    r"(?<=[:;] )c(\d+) (.+?) \((number|text|date|time)(?:: (.*?))?\)(?= ; c\d+ |$)"
)


def form_and_table(form: str, shown: str) -> str:
    """A form with the headers it means, above the table: what the reader judges."""
    headers = {number: header for number, header, *_ in SHOWN_COLUMN.findall(shown)}
    worded = re.sub(r"\bc(\d+)\b", lambda found: headers.get(found[1], found[0]), form)
    return f"{worded}\n{shown}"


SETS = {"tables": 0.08, "pointed": 0.06, "wtq": 0.5, "wikisql": 0.5}
"""Of the understander's rows of a set, so many."""
WRONG = 2
"""Changed forms for each right one."""
_TASK = "query: "
_USED = re.compile(r"\bc(\d+)\b")
_CONDITION = re.compile(
    r"^(?P<key>\S+)(?P<sign> (?:is not|is|over|under|at least|at most|contains|in) )(?P<value>.+)$"
)
_OTHERS = {
    "mean": ("sum", "median", "max"), "sum": ("mean", "max", "count distinct"),
    "max": ("min", "mean", "sum"), "min": ("max", "mean"), "median": ("mean", "max"),
    "count distinct": ("sum", "mode"), "std": ("variance", "mean"), "variance": ("std",),
    "mode": ("max", "count distinct"), "range": ("max", "std"), "iqr": ("range", "std"),
    "top": ("bottom",), "bottom": ("top",), "first": ("last",), "last": ("first",),
    "after": ("before",), "before": ("after",), "skewness": ("kurtosis",),
    "kurtosis": ("skewness",), "correlation": ("covariance", "significance"),
    "show": ("count distinct",),
}  # fmt: skip
_SIGNS = {" is ": (" is not ",), " is not ": (" is ",), " over ": (" under ", " at least "),
          " under ": (" over ", " at most "), " at least ": (" at most ", " over "),
          " at most ": (" at least ", " under "), " contains ": (" is not ",)}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Seen:
    """A table as the understander sees it."""

    kinds: dict[str, str]
    """By the columns' numbers: c1."""
    cells: dict[str, list[str]]


def seen(shown: str) -> Seen:
    found = SHOWN_COLUMN.findall(shown)
    kinds = {f"c{number}": kind for number, _, kind, _ in found}
    cells = {f"c{number}": [one for one in held.split(", ") if one] for number, _, _, held in found}
    return Seen(kinds, cells)


def changed(form: str, table: Seen, draw: Random) -> str | None:
    """The form with one thing changed that changes what it means; None where that fails."""
    act, *conditions = form.split(" | ")
    ways = [_other_act, _other_column, _other_by]
    if conditions:
        ways += [_without, _without, _other_condition, _other_condition]
    else:
        ways.append(_further)
    draw.shuffle(ways)
    for way in ways:
        made = way(act, conditions, table, draw)
        if made is not None and made != form:
            return made
    return None


def _joined(act: str, conditions: Sequence[str]) -> str:
    return " | ".join([act, *conditions])


def _without(act: str, conditions: Sequence[str], _: Seen, draw: Random) -> str | None:
    first = 1 if act.startswith("difference ") else 0
    if len(conditions) <= first:
        return None
    at = draw.randrange(first, len(conditions))
    return _joined(act, [*conditions[:at], *conditions[at + 1 :]])


def _further(act: str, conditions: Sequence[str], table: Seen, draw: Random) -> str | None:
    """A condition that nobody said."""
    held = [(key, cell) for key, cells in table.cells.items() for cell in cells]
    held = [one for one in held if table.kinds[one[0]] == "text"]
    if not held or act.startswith("none"):
        return None
    key, cell = draw.choice(held)
    return _joined(act, [*conditions, f"{key} is {cell}"])


def _other_act(act: str, conditions: Sequence[str], _: Seen, draw: Random) -> str | None:
    for said in sorted(_OTHERS, key=len, reverse=True):
        found = re.search(rf"(?:^|(?<=difference )|(?<= by )){said} ", act)
        if found:
            other = draw.choice(_OTHERS[said])
            return _joined(f"{act[: found.start()]}{other} {act[found.end() :]}", conditions)
    return None


def _other_column(act: str, conditions: Sequence[str], table: Seen, draw: Random) -> str | None:
    """Of the same kind where there is one; a figure of a number does not become one of a name."""
    used = [f"c{one}" for one in _USED.findall(act)]
    if not used:
        return None
    key = draw.choice(used)
    alike = [one for one, kind in table.kinds.items() if kind == table.kinds.get(key)]
    alike = [one for one in alike if one not in used]
    others = alike or [one for one in table.kinds if one not in used]
    if not others or (not alike and not act.startswith(("show", "top", "bottom", "first", "last"))):
        return None
    return _joined(re.sub(rf"\b{key}\b", draw.choice(others), act), conditions)


def _other_by(act: str, conditions: Sequence[str], _: Seen, draw: Random) -> str | None:
    """Ungrouped; the most rows instead of the largest sum; another part of dates."""
    found = re.match(r"(top|bottom) (\d+) (\S+) by (count|sum (\S+)|mean (\S+)|(c\d+))$", act)
    if found:
        end, n, key, by = found[1], found[2], found[3], found[4]
        column = found[5] or found[6] or found[7]
        options = [f"{figure} {column}" for figure in ("sum", "mean", "max") if column]
        options += ["count", *([column] if column else [])]
        options = [one for one in options if one != by]
        other_n = draw.choice([one for one in ("1", "2", "3", "5") if one != n])
        if not options or draw.random() < 0.25:  # noqa: PLR2004
            return _joined(f"{end} {other_n} {key} by {by}", conditions)
        return _joined(f"{end} {n} {key} by {draw.choice(options)}", conditions)
    part = re.search(r"\b(year|month|quarter|weekday)\(", act)
    if part:
        others = [one for one in ("year", "month", "quarter", "weekday") if one != part[1]]
        return _joined(act.replace(f"{part[1]}(", f"{draw.choice(others)}(", 1), conditions)
    if " by " in act and not act.startswith(("top", "bottom", "groups")):
        return _joined(act.rpartition(" by ")[0], conditions)
    return None


def _other_condition(act: str, conditions: Sequence[str], table: Seen, draw: Random) -> str | None:
    at = draw.randrange(len(conditions))
    both = conditions[at].split(" / ")
    if len(both) == 2 and draw.random() < 0.5:  # noqa: PLR2004
        turned = " / ".join(both[::-1])
        return _joined(act, [*conditions[:at], turned, *conditions[at + 1 :]])
    found = _CONDITION.match(conditions[at])
    if found is None or len(both) > 1:
        return None
    key, sign, value = found["key"], found["sign"], found["value"]
    roll = draw.random()
    number = re.fullmatch(r"\D{0,2}(\d+)(?:[.,]\d+)*k?", value)
    if roll < 0.35 and sign in _SIGNS:  # noqa: PLR2004
        sign = draw.choice(_SIGNS[sign])
    elif roll < 0.65:  # noqa: PLR2004
        cells = [one for one in table.cells.get(key, ()) if one.lower() not in value.lower()]
        if number:
            value = str(int(number[1]) + draw.choice((-10, -1, 1, 2, 10, 100)))
        elif cells:
            value = draw.choice(cells)
        else:
            return None
    else:
        plain = _USED.search(key)
        others = [one for one in table.kinds if plain and one != plain[0]]
        alike = [one for one in others if plain and table.kinds[one] == table.kinds.get(plain[0])]
        if not others or plain is None:
            return None
        key = key.replace(plain[0], draw.choice(alike or others))
    return _joined(act, [*conditions[:at], f"{key}{sign}{value}", *conditions[at + 1 :]])


def claims(rows: Path, written: Sequence[Path], seed: int = 5) -> Iterator[tuple[Part, Claim]]:
    instead: dict[str, set[str]] = defaultdict(set)
    for file in written:
        for line in file.read_text("utf-8").splitlines():
            given, form = json.loads(line)
            instead[given].add(form)
    with gzip.open(rows, "rt", encoding="utf-8") as lines:
        for line in lines:
            given, form, source = json.loads(line)
            base = source.removesuffix("-dev").removesuffix("-test")
            if not given.startswith(_TASK) or base not in SETS:
                continue
            held = base != source
            draw = chance(seed, given)
            if not held and given not in instead and draw.random() > SETS[base]:
                continue
            question, _, shown = given.removeprefix(_TASK).partition(" | ")
            yield from _of_row(question, shown, form, instead[given], draw, held=held)


def _of_row(
    question: str, shown: str, form: str, instead: set[str], draw: Random, *, held: bool
) -> Iterator[tuple[Part, Claim]]:
    part: Part = "dev" if held else "train"
    table = seen(shown)
    if form != "none":
        yield part, _claim(question, form, shown, 1)
    wrong = sorted(one for one in instead if one not in {form, "none"})
    draw.shuffle(wrong)
    while form != "none" and len(wrong) < WRONG:
        made = changed(form, table, draw)
        if made is None or made in wrong:
            break
        wrong.append(made)
    for one in wrong[: WRONG + 1]:
        yield part, _claim(question, one, shown, 0)


def _claim(question: str, form: str, shown: str, label: int) -> Claim:
    return Claim(question, 1 if label else 0, FORMS, premise=form_and_table(form, shown))
