"""The tables of docs/confidence.md, made from the saved results; a test holds the page to them.

They stand between `<!-- begin NAME -->` and `<!-- end NAME -->`, and nowhere else.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.reader_quality_compare import SHIPPED
from benchmarks.reader_quality_fit import CHOICES, ORACLE
from benchmarks.reader_quality_fit import RESULTS as FITTED
from benchmarks.reader_quality_report import RESULTS as COMPARED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    Found = Mapping[str, Any]

PAGE = Path(__file__).resolve().parents[1] / "docs" / "confidence.md"
_BLOCK = re.compile(
    r"(?P<begin><!-- begin (?P<name>[a-z-]+) -->\n).*?(?P<end><!-- end (?P=name) -->)", re.DOTALL
)


def filled(page: str, fitted: Found, compared: Found) -> str:
    """The page with every table made anew."""

    def block(found: re.Match[str]) -> str:
        lines = "\n".join(_TABLES[found["name"]](fitted, compared))
        return f"{found['begin']}{lines}\n{found['end']}"

    return _BLOCK.sub(block, page)


def results() -> tuple[Found, Found]:
    """What `fit` and `report` have saved."""
    fitted, compared = (json.loads(file.read_text("utf-8")) for file in (FITTED, COMPARED))
    return fitted, compared


def write_page(page: Path = PAGE) -> None:
    page.write_text(filled(page.read_text("utf-8"), *results()), encoding="utf-8", newline="\n")


def _rules(fitted: Found, compared: Found) -> Iterator[str]:
    del compared
    made = fitted["made"]
    limits = made["thresholds"]
    yield from _head(["what", "rule"])
    yield _row(["reader", f"`{made['reader']}`"])
    yield _row(["which span", f"{fitted['rule']} among the best five"])
    yield _row(["how likely an answer is right", _formula(made["answer"])])
    yield _row(["an answer is withheld below", f"**{limits['answer']}**"])
    yield _row(["how likely a search found what answers", _formula(made["quality"])])
    yield _row(["another search follows below", f"**{limits['quality']}**"])
    yield _row(["the web is asked, where it may be, below", f"**{limits['web_quality']}**"])


def _formula(model: Found) -> str:
    terms = "".join(f" {weight:+.4f} {name}" for name, weight in model["weights"].items())
    return f"`1 / (1 + exp(-({model['bias']:.4f}{terms})))`"


def _choice(fitted: Found, compared: Found) -> Iterator[str]:
    del compared
    sets = fitted["choice"]
    yield from _head(
        [
            "span of the passage with",
            *(f"`{name}` ({one['questions']})" for name, one in sets.items()),
        ]
    )
    for rule in (*CHOICES, ORACLE):
        cells = [f"{_f(one[rule]['em'])} / {_f(one[rule]['f1'])}" for one in sets.values()]
        yield _row([rule, *cells])


def _features(fitted: Found, compared: Found) -> Iterator[str]:
    del compared
    yield from _head(["features", "log loss", "ECE", "area under risk-coverage", "AUROC right"])
    for name, one in fitted["features"].items():
        cells = [_f(one[key]) for key in ("log_loss", "ece", "aurc", "auroc_right")]
        yield _row([name if one["sound"] else f"{name} (a weight below zero)", *cells])


def _answers(fitted: Found, compared: Found) -> Iterator[str]:
    del compared
    sets = fitted["answers"]
    yield from _head(["", *(f"`{name}`" for name in sets)])
    rows: dict[str, Callable[[Found], str]] = {
        "questions (answerable)": lambda one: f"{one['questions']} ({one['answerable']})",
        "AUROC right / wrong": lambda one: _f(one["auroc_right"]["value"]),
        "ECE": lambda one: _f(one["ece"]),
        "mean probability, share right": lambda one: (
            f"{_f(one['mean_probability'])}, {_f(one['right'])}"
        ),
        "answered": lambda one: _f(one["answered"]),
        "... of the answerable": lambda one: _f(one["answered_of_answerable"]),
        "... of the others": lambda one: _f(one["answered_of_unanswerable"]),
        "wrong among answered": lambda one: _f(one["wrong_of_answered"]),
        "... of the answerable, wrong": lambda one: _f(one["wrong_of_answered_answerable"]),
        "F1 by SQuAD 2's rules": lambda one: _f(one["squad2_f1"]),
    }
    for name, cell in rows.items():
        yield _row([name, *(cell(one) for one in sets.values())])


def _searches(fitted: Found, compared: Found) -> Iterator[str]:
    del compared
    groups = ("found", "missed", "taken_out")
    yield from _head(
        ["", "questions", "found", "AUROC found / missed", "AUROC found / taken out"]
        + [f"again: {group.replace('_', ' ')}" for group in groups]
        + [f"web: {group.replace('_', ' ')}" for group in groups]
    )
    for name, one in fitted["searches"].items():
        if one["questions"]:
            told = [_f(one["found"]["value"]), _f(one["auroc_missed"]), _f(one["auroc_taken_out"])]
            rates = [_f(one[kind][group]) for kind in ("again", "web") for group in groups]
            yield _row([f"`{name}`", str(one["questions"]), *told, *rates])


def _promises(fitted: Found, compared: Found) -> Iterator[str]:
    del fitted
    yield from _head(
        ["questions", "at most wrong", "confidence", "exceeded", "wrong", "at most", "answered"]
    )
    for group, readers in compared["calibration"].items():
        for confidence, risks in readers[SHIPPED]["risk"].items():
            for risk, one in risks.items():
                broken = f"{one['exceeded']} of {one['splits']}"
                figures = [_f(one[key]) for key in ("realised", "realised_most", "coverage")]
                yield _row([group, risk, confidence, broken, *figures])


def _readers(fitted: Found, compared: Found) -> Iterator[str]:
    del fitted
    yield from _head(["what", "figure", "wanted", ""])
    for line in compared["must_show"]:
        met = "met" if line["met"] else "missed"
        yield _row([line["what"], line["figure"], line["wanted"], met])


_TABLES: dict[str, Callable[[Found, Found], Iterator[str]]] = {
    "rules": _rules,
    "choice": _choice,
    "features": _features,
    "answers": _answers,
    "searches": _searches,
    "promises": _promises,
    "readers": _readers,
}


def _head(cells: Sequence[str]) -> Iterator[str]:
    yield _row(cells)
    yield "|" + "---|" * len(cells)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _f(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}".removeprefix("0") if 0 <= value < 1 else f"{value:.3f}"
