"""Makes same_question.jsonl, pairs of questions that are or are not the same, from the sentences
in same_question.txt.

    python -m benchmarks.sets.same_question_making

How the sentences are written:

    * law                    the field that the following questions are from
    Q <question>             a question
    n <words> -> <others>    the same question, another meaning: these words in place of those
    =n <question>            the same question in other words
    ~n <one> || <other>      a pair of its own that asks the same

The letter names the family. Questions fall into two halves in turn, the one that a matcher may be
tuned on and the one that it is judged on; nothing may be tuned on the family `asked`.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

Family = Literal["negation", "opposites", "numbers", "names", "modality", "asked"]
Half = Literal["tuned", "judged"]

FAMILIES: dict[str, Family] = {
    "n": "negation",
    "r": "opposites",
    "d": "numbers",
    "e": "names",
    "m": "modality",
    "a": "asked",
}
UNTUNED: Family = "asked"
SENTENCES = Path(__file__).with_name("same_question.txt")
PAIRS = SENTENCES.with_suffix(".jsonl")


@dataclass(frozen=True, slots=True)
class Pair:
    one: str
    other: str
    same: bool
    family: Family
    half: Half
    field: str


def pairs_of(lines: list[str]) -> Iterator[Pair]:
    field, question, turn = "", "", 0
    for line in lines:
        mark, _, said = line.partition(" ")
        if mark == "*":
            field = said
            turn += 1
        elif mark == "Q":
            question = said
        else:
            yield _pair(question, mark, said, field=field, half=_half(mark, turn))


def _half(mark: str, turn: int) -> Half:
    if FAMILIES[mark[-1]] == UNTUNED:
        return "judged"
    return "tuned" if turn % 2 else "judged"


def _pair(question: str, mark: str, said: str, *, field: str, half: Half) -> Pair:
    family = FAMILIES[mark[-1]]
    if mark[0] == "~":
        one, other = said.split(" || ")
        return Pair(one, other, same=True, family=family, half=half, field=field)
    if mark[0] == "=":
        return Pair(question, said, same=True, family=family, half=half, field=field)
    old, new = said.split(" -> ")
    if question.count(old) != 1:
        raise ValueError(f"{old!r} must be in {question!r} once")
    changed = question.replace(old, new)
    return Pair(question, changed, same=False, family=family, half=half, field=field)


def read_pairs() -> list[Pair]:
    return [Pair(**json.loads(line)) for line in PAIRS.read_text("utf-8").splitlines()]


def main() -> None:
    made = list(pairs_of(SENTENCES.read_text("utf-8").splitlines()))
    with PAIRS.open("w", encoding="utf-8", newline="\n") as out:
        out.writelines(json.dumps(asdict(pair), ensure_ascii=False) + "\n" for pair in made)
    print(f"{sum(not pair.same for pair in made)} different, {sum(p.same for p in made)} the same")


if __name__ == "__main__":
    main()
