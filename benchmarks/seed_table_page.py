"""The tables of docs/results.md that tell of presets and graders, made from their results.

They stand between `<!-- made NAME -->` and `<!-- /made NAME -->`; a test holds the page to them.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from benchmarks.eval_runs import RESULTS
from benchmarks.eval_sets import ROOT
from benchmarks.eval_written import NOTHING, table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    Made = Mapping[str, Any]

PAGE = ROOT / "docs" / "results.md"
_BLOCK = re.compile(
    r"(?P<begin><!-- made (?P<name>[a-z-]+) -->\n).*?(?P<end><!-- /made (?P=name) -->)", re.DOTALL
)


def fill(page: Path = PAGE, results: Path = RESULTS) -> str:
    page.write_text(filled(page.read_text("utf-8"), results), encoding="utf-8", newline="\n")
    return page.name


def filled(page: str, results: Path = RESULTS) -> str:
    def block(found: re.Match[str]) -> str:
        file, command, make = TABLES[found["name"]]
        path = results / file
        made = (
            make(json.loads(path.read_text("utf-8")))
            if path.is_file()
            else f"*Not measured yet: `{command}`.*"
        )
        return f"{found['begin']}{made}\n{found['end']}"

    return _BLOCK.sub(block, page)


def presets(made: Made) -> str:
    by = made["model"] or "the reader, no model"
    lines = [
        [
            name,
            _ranged(one["metrics"].get("f1")),
            _value(one["metrics"].get("success")),
            _value(one["metrics"].get("faithfulness")),
            _value(one["metrics"].get("recall@5")),
            _value(one["metrics"].get("llm_calls"), 2),
            f"{one['seconds']:.2f} s",
            f"{one['times_linear']:.2f}x",
            _percent(one["metrics"].get("retry_rate", {}).get("value")),
            _percent(one["grading"].get("false_rejection_gold")),
            _percent(one["right_refused"]),
        ]
        for name, one in made["presets"].items()
    ]
    heads = ["preset", "F1 (95 %)", "success", "faithfulness", "recall@5", "model calls", "seconds",
             "to linear", "asked again", "gold rejected", "right answers refused"]  # fmt: skip
    return f"{made['questions']} answerable questions, answers by {by}.\n\n{table(heads, lines)}"


def preset_differences(made: Made) -> str:
    heads = ["against linear", "metric", "questions", "difference in points (95 %)", "p, corrected",
             "better / same / worse"]  # fmt: skip
    lines = [
        [
            one["other_name"],
            one["metric"],
            str(one["n"]),
            f"{100 * one['difference']:+.1f} ({100 * one['low']:+.1f} to {100 * one['high']:+.1f})",
            f"{one['p_holm']:.3f}",
            f"{one['improved']} / {one['same']} / {one['degraded']}",
        ]
        for one in made["differences"]
    ]
    return table(heads, lines)


def losses(made: Made) -> str:
    """How the answers came about that are worse than those of linear."""
    lost = {name: one["lost"] for name, one in made["presets"].items() if one["lost"]["questions"]}
    if not lost:
        return "No preset has a question with less F1 than `linear`."
    names = list(dict.fromkeys(key for one in lost.values() for key in one))
    lines = [[name, *(str(one[key]) for key in names)] for name, one in lost.items()]
    return table(["preset", *names], lines)


def graders(made: Made) -> str:
    lines = [
        [
            name,
            f"{one['seconds_per_10']:.2f} s",
            f"{one['faster_than_llm_batch']:.1f}x",
            f"{one['calls']:.1f}",
            _percent_ranged(one["false_rejection_gold"]),
            _percent_ranged(one["false_rejection_gold@1"]),
            _percent_ranged(one["false_acceptance"]),
        ]
        for name, one in made["graders"].items()
    ]
    heads = ["grader", "10 passages", "faster than llm-batch", "calls", "gold rejected",
             "gold at rank 1 rejected", "others accepted"]  # fmt: skip
    asked = f"{made['questions']} questions, {made['passages']} passages each, {made['model']}."
    return f"{asked}\n\n{table(heads, lines)}"


def graded_answers(made: Made) -> str:
    lines = [
        [
            by,
            _percent_ranged(one["false_rejection_right"]),
            _percent_ranged(one["false_acceptance_wrong"]),
        ]
        for by, one in made["answers"].items()
    ]
    return table(["judge", "right answers refused", "answers to other questions accepted"], lines)


def labelled(made: Made) -> str:
    lines = [
        [
            name,
            asked,
            _percent_ranged(one["all"][asked]["precision"]),
            _percent_ranged(one["all"][asked]["recall"]),
            _percent(one["all"][asked]["precision"].get("weighted")),
            _percent(one["all"][asked]["recall"].get("weighted")),
        ]
        for name, one in made["graders"].items()
        for asked in ("relevant", "answers", "relevant, against gold")
    ]
    heads = ["grader", "asked", "precision (95 %)", "recall (95 %)", "precision, weighted",
             "recall, weighted"]  # fmt: skip
    told = ", ".join(f"{count} {label}" for label, count in made["labels"].items())
    return f"{sum(made['labels'].values())} pairs: {told}.\n\n{table(heads, lines)}"


def _value(found: Mapping[str, Any] | None, digits: int = 3) -> str:
    return NOTHING if not found or found["value"] is None else f"{found['value']:.{digits}f}"


def _ranged(found: Mapping[str, Any] | None) -> str:
    return f"{_value(found)} ({found['low']:.3f} to {found['high']:.3f})" if found else NOTHING


def _percent(value: float | None) -> str:
    return NOTHING if value is None else f"{100 * value:.1f} %"


def _percent_ranged(found: Mapping[str, Any]) -> str:
    if found["value"] is None:
        return NOTHING
    bounds = f"{100 * found['low']:.1f} to {100 * found['high']:.1f}"
    return f"{_percent(found['value'])} ({bounds})"


_SEEDS = "python -m benchmarks.seed_table --model gguf:PATH"
_GRADERS = "python -m benchmarks.graders gguf:PATH"
TABLES: dict[str, tuple[str, str, Callable[[Made], str]]] = {
    "presets": ("seed_table.json", _SEEDS, presets),
    "preset-differences": ("seed_table.json", _SEEDS, preset_differences),
    "preset-losses": ("seed_table.json", _SEEDS, losses),
    "graders": ("graders.json", _GRADERS, graders),
    "graded-answers": ("graders.json", _GRADERS, graded_answers),
    "labelled": ("labelled_pairs.json", "python -m benchmarks.labelled_pairs", labelled),
}
