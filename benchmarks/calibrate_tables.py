"""The tables of docs/confidence.md, made from the saved results; a test holds the page to them.

python -m benchmarks.calibrate_tables
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from benchmarks.calibrate_answers import CALIBRATION, CHOICES, ORACLE, REPORT, TAKEN_OUT
from benchmarks.calibrate_report import RESULTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_SETS = {
    CALIBRATION: "calibration half",
    REPORT: "report half",
    TAKEN_OUT: "report half, answer taken out",
    "hotpot-train": "`hotpot-train`",
    "hotpot": "`hotpot`",
}
_SEARCHES = {
    "squad2-dev, calibration": "`squad2-dev`, calibration half",
    "hotpot-train, calibration": "`hotpot-train` (calibration)",
    "squad2-dev": "`squad2-dev`, report half",
    "hotpot": "`hotpot`",
    "scifact": "`scifact`",
    "cranfield": "`cranfield`",
}
_RAW = ("min_rerank_score 0.0", "min_rerank_score -2.0")


def tables(results: dict[str, Any]) -> dict[str, list[str]]:
    """Lines of Markdown by what they show."""
    answers, searches = results["answers"], results["searches"]["sets"]
    return {
        "choice": list(_choice(answers["choice"])),
        "answers": list(_answers(answers["sets"])),
        "risk": list(_risk(answers["sets"])),
        "searches": list(_searches(searches)),
        "second search": list(_second(searches)),
    }


def _choice(choice: dict[str, Any]) -> Iterator[str]:
    columns = [CALIBRATION, "hotpot-train", REPORT, "hotpot"]
    counts = [f"{_SETS[name]} ({choice[name][ORACLE]['n']})" for name in columns]
    yield from _head(["span of the passage with", *counts])
    for rule in (*CHOICES, ORACLE):
        cells = [
            f"{_f(choice[name][rule]['em'])} / {_f(choice[name][rule]['f1'])}" for name in columns
        ]
        yield _row([rule, *cells])


def _answers(sets: dict[str, Any]) -> Iterator[str]:
    yield from _head(["", *(_SETS[name] for name in sets)])
    rows: dict[str, Callable[[dict[str, Any]], str]] = {
        "questions (answerable)": lambda one: f"{one['n']} ({one['answerable']})",
        "AUROC answerable / not": _with_interval,
        "AUROC right / wrong": lambda one: _f(one["auroc_right"]),
        "ECE, 10 bins": lambda one: _f(one["ece"]),
        "mean probability, share right": lambda one: (
            f"{_f(one['mean_probability'])}, {_f(one['right'])}"
        ),
        "answered": lambda one: _f(one["answered"]),
        "... of the answerable": lambda one: _f(one["answered_of_answerable"]),
        "... of the others": lambda one: _f(one["answered_of_unanswerable"]),
        "wrong among answered": lambda one: _f(one["wrong_of_answered"]),
        "... of the answerable, wrong": lambda one: _f(one["wrong_of_answered_answerable"]),
        "EM / F1 by SQuAD 2's rules": lambda one: (
            f"{_f(one['squad2_em'])} / {_f(one['squad2_f1'])}"
        ),
        "F1 if everything is answered": lambda one: _f(one["squad2_f1_always_answering"]),
    }
    for name, cell in rows.items():
        yield _row([name, *(cell(one) for one in sets.values())])


def _with_interval(one: dict[str, Any]) -> str:
    edges = one["auroc_answerable_95"]
    shown = _f(one["auroc_answerable"])
    return f"{shown} ({_f(edges[0])} to {_f(edges[1])})" if edges else shown


def _risk(sets: dict[str, Any]) -> Iterator[str]:
    shares = list(sets[REPORT]["risk"])
    yield from _head(["surest share of the questions", *(f"{float(s):.0%}" for s in shares)])
    yield _row(["half of them unanswerable", *(_f(sets[REPORT]["risk"][s]) for s in shares)])
    yield _row(
        ["half with the answer taken out", *(_f(sets[TAKEN_OUT]["risk"][s]) for s in shares)]
    )
    yield _row(["answerable only", *(_f(sets[REPORT]["risk_answerable"][s]) for s in shares)])


def _searches(sets: dict[str, Any]) -> Iterator[str]:
    yield from _head(
        [
            "",
            "questions",
            "found",
            "AUROC found / missed",
            "AUROC found / taken out",
            "ECE",
            "web: found",
            "web: missed",
            "web: taken out",
        ]
    )
    keys = ("found", "auroc_miss", "auroc_taken_out", "ece")
    web = ("web_of_found", "web_of_missed", "web_taken_out")
    for name, label in _SEARCHES.items():
        one = sets[name]
        yield _row([label, str(one["n"]), *(_f(one[key]) for key in (*keys, *web))])


def _second(sets: dict[str, Any]) -> Iterator[str]:
    yield from _head(
        [
            "",
            "fires: lowest score < 0.0",
            "< -2.0",
            "calibrated",
            "found at first",
            "then, calibrated",
            "then, always",
        ]
    )
    for name, label in _SEARCHES.items():
        rules = sets[name]["second_search"]
        rates = [_f(rules[rule]["rate"]) for rule in (*_RAW, "calibrated")]
        then = [_change(rules[rule]) for rule in ("calibrated", "always")]
        if name == "hotpot-train, calibration":  # what only the second search finds was not read
            then = ["-", "-"]
        yield _row([label, *rates, _f(sets[name]["found"]), *then])


def _change(rule: dict[str, Any]) -> str:
    return f"{_f(rule['found_then'])} (+{rule['gained']} -{rule['lost']})"


def _head(cells: Sequence[str]) -> Iterator[str]:
    yield _row(cells)
    yield "|" + "---|" * len(cells)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _f(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}".removeprefix("0") if value < 1 else f"{value:.3f}"


def main() -> None:
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    for name, lines in tables(results).items():
        print(f"\n{name}\n")
        print("\n".join(lines))


if __name__ == "__main__":
    main()
