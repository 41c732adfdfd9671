"""The tables of docs/results.md, made from `benchmarks/results/eval_*.json`.

They stand between `<!-- begin NAME -->` and `<!-- end NAME -->` on the page, and nowhere else on
it is a figure of ours: so none can be out of date without a test that fails.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from benchmarks.eval_written import (
    NOTHING,
    chance,
    count,
    points,
    ranged,
    score,
    seconds,
    share,
    table,
    value,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

Found = dict[str, Any]

_BLOCK = re.compile(
    r"(?P<begin><!-- begin (?P<name>[a-z-]+) -->\n).*?(?P<end><!-- end (?P=name) -->)", re.DOTALL
)
SIGNIFICANT = 0.05

PUBLISHED: dict[str, tuple[float | None, ...]] = {
    "linear": (0.256, 0.242, 0.0, 0.729, 14.3, None, None),
    "adaptive": (0.264, 0.245, 0.0, 0.770, 13.4, 0.60, None),
    "adaptive+web": (0.263, 0.245, 0.0, 0.759, 14.1, 0.60, 0.39),
}
"""As published with the design: F1, ROUGE-L, exact match, faithfulness, seconds, share searched
again, share that looked on the web."""
PUBLISHED_FALLBACK = {-2.0: 0.39, -1.0: 0.49, 0.0: 0.60, 1.0: 0.72, 2.0: 0.84}
PUBLISHED_SCORES = {"mean": -1.26, "median": -0.94, "std": 3.36, "min": -10.03, "max": 5.41}


def filled(page: str, results: Path) -> str:
    """The page with every table as the results have it."""

    def block(found: re.Match[str]) -> str:
        sources, make = TABLES[found["name"]]
        files = {source: results / f"eval_{source}.json" for source in sources}
        lacking = [source for source, file in files.items() if not file.is_file()]
        if lacking:
            made = _missing(lacking[0])
        else:
            made = make(*(json.loads(file.read_text("utf-8")) for file in files.values()))
        return f"{found['begin']}{made}\n{found['end']}"

    return _BLOCK.sub(block, page)


def _missing(source: str) -> str:
    return f"*Not measured yet: `python -m benchmarks.eval_results {source}`.*"


def summary_table(found: Found, columns: Mapping[str, str]) -> str:
    rows = [
        [name, *_line(one["metrics"], columns)] for name, one in found["configurations"].items()
    ]
    return table(["configuration", *columns.values()], rows)


def _line(metrics: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """F1 with its interval."""
    return [ranged(metrics, name) if name == "f1" else value(metrics, name) for name in names]


_ANSWERS = {
    "answered_answerable": "answered, of the answerable",
    "f1": "F1 (95 %)",
    "em": "exact match",
    "contains": "holds a right answer",
    "text_f1": "F1 of the text",
    "faithfulness": "faithfulness",
    "wrong_among_answered": "wrong, of the answered",
    "refused_unanswerable": "withheld, of the unanswerable",
    "auroc": "AUROC of confidence",
    "fallback_rate": "searched again",
}


def embedded(found: Found, timed: Found) -> str:
    columns = {**_ANSWERS, "recall@5": "recall@5", "latency_p50": "p50", "latency_p95": "p95"}
    return _asked(found) + summary_table(_with_times(found, timed), columns)


def model(found: Found) -> str:
    columns = {
        **_ANSWERS,
        "web_rate": "web",
        "prompt_leak": "prompt leaks",
        "tokens_in": "tokens read",
        "tokens_out": "tokens written",
        "latency_p50": "p50",
        "latency_p95": "p95",
    }
    return _asked(found) + summary_table(found, columns)


def _asked(found: Found) -> str:
    other = found["questions"] - found["answerable"]
    cores = found["machine"]["cores"]
    return (
        f"{found['answerable']:,} answerable questions and {other:,} unanswerable ones, "
        f"{found['documents']:,} passages, {cores} cores.\n\n"
    )


def beside(written: Found, read: Found, timed: Found) -> str:
    """The published table above our own forced figures of the same metrics: written by the model,
    and read out by the reader."""
    heads = ["run", "answers by", "questions", "F1 of the text", "ROUGE-L of the text"]
    heads += [
        "exact match of the text",
        "faithfulness, plain cosine",
        "seconds",
        "searched again",
        "web",
    ]
    heads += ["F1 of the short answer", "faithfulness, our scale"]
    forms = (score, score, score, score, seconds, share, share)
    published = [
        [
            f"{name}, as published",
            "Qwen2.5-3B",
            "100",
            *(form(figure) for form, figure in zip(forms, row, strict=True)),
            NOTHING,
            NOTHING,
        ]
        for name, row in PUBLISHED.items()
    ]
    return table(heads, [*published, *_ours(written), *_ours(_with_times(read, timed))])


def _ours(found: Found) -> list[list[str]]:
    writer = found["model"].split(".Q")[0] if "model" in found else "the reader, no model"
    names = ["text_f1", "text_rouge_l", "text_em", "faithfulness_cosine", "latency_p50"]
    names += ["fallback_rate", "web_rate", "f1", "faithfulness"]
    return [
        [
            f"{name}, here",
            writer,
            count(one["metrics"]["text_f1"]["n"]),
            *(value(one["metrics"], key) for key in names),
        ]
        for name, one in found["configurations"].items()
        if name.endswith("forced")
    ]


def _with_times(found: Found, timed: Found) -> Found:
    """Answering takes as long whether or not the answer may be withheld afterwards."""
    times = timed["conditions"]["as is"]["configurations"]
    return found | {
        "configurations": {
            name: one | {"metrics": one["metrics"] | times[name.partition(",")[0]]["metrics"]}
            for name, one in found["configurations"].items()
        }
    }


_NAMED = {"f1": "F1", "f1_overall": "F1 overall", "faithfulness": "faithfulness"}


def differences(found: Found) -> str:
    """Each pair, metric by metric."""
    heads = ["compared", "metric", "questions", "difference in points (95 %)", "p", "p, corrected"]
    heads += ["better / same / worse"]
    rows = [
        [f"{one['other_name']} against {one['base_name']}", *_difference(one)]
        for one in found["differences"]
    ]
    return table(heads, rows)


def _difference(one: Found) -> list[str]:
    bounds = f"{points(one['difference'])} ({points(one['low'])} to {points(one['high'])})"
    counts = f"{one['improved']} / {one['same']} / {one['degraded']}"
    corrected = chance(one["p_holm"])
    return [_NAMED[one["metric"]], f"{one['n']:,}", bounds, chance(one["p"]), corrected, counts]


def web(found: Found, timed: Found) -> str:
    columns = {
        "f1": "F1 (95 %)",
        "f1_overall": "F1 overall",
        "faithfulness": "faithfulness",
        "answered_answerable": "answered, of the answerable",
        "wrong_among_answered": "wrong, of the answered",
        "refused_unanswerable": "withheld, of the unanswerable",
        "fallback_rate": "searched again",
        "web_rate": "web",
        "latency_p50": "p50",
        "latency_p95": "p95",
    }
    rows = [
        [condition, name, *_line(one["metrics"] | _times(timed, condition, name), columns)]
        for condition, held in found["conditions"].items()
        for name, one in held["configurations"].items()
    ]
    return _setting(found) + table(["library", "configuration", *columns.values()], rows)


def _times(timed: Found, condition: str, name: str) -> Found:
    metrics: Found = timed["conditions"][condition]["configurations"][name]["metrics"]
    return metrics


def _setting(found: Found) -> str:
    as_is, moved = found["conditions"]["as is"], found["conditions"]["moved"]
    return (
        f"{as_is['questions']:,} questions, {as_is['answerable']:,} of them answerable. The "
        f"library holds {as_is['documents']:,} passages as is and {moved['documents']:,} after "
        f"{found['moved_passages']:,} ({100 * found['share']:.0f} % of the gold passages) were "
        f"moved; the web holds {found['web_pages']:,} pages in both.\n\n"
    )


def web_parts(found: Found) -> str:
    """The questions whose passage is among the moved ones, and the others."""
    heads = ["library", "questions about", "number", "configuration", "F1", "F1 overall"]
    heads += ["answered, of the answerable", "web"]
    keys = ("f1", "f1_overall", "answered_answerable", "web_rate")
    rows = [
        [
            condition,
            f"{part} passages",
            f"{held['by_part'][part]:,}",
            name,
            *(value(one["by_type"][part], key) for key in keys),
        ]
        for condition, held in found["conditions"].items()
        for part in ("moved", "kept")
        for name, one in held["configurations"].items()
    ]
    return table(heads, rows)


def web_differences(found: Found) -> str:
    heads = ["library", "questions", "metric", "number", "difference in points (95 %)", "p"]
    heads += ["p, corrected", "better / same / worse"]
    rows = [
        [condition, _part(one["part"]), *_difference(one)]
        for condition, held in found["conditions"].items()
        for one in _of_the_web(held)
    ]
    return table(heads, rows)


def _of_the_web(held: Found) -> list[Found]:
    return [one for one in held["differences"] if one["other_name"] == "adaptive+web"]


def _part(name: str) -> str:
    return "all" if name == "all" else f"about {name} passages"


def web_verdict(found: Found) -> str:
    """What the differences say, in words that follow from them."""
    lines = [
        f"- {condition.capitalize()}, {_whose(one['part'])}: {verdict(one)}"
        for condition, held in found["conditions"].items()
        for one in _of_the_web(held)
        if one["metric"] == "f1_overall"
    ]
    return "What looking on the web changes in F1 overall:\n\n" + "\n".join(lines)


def _whose(part: str) -> str:
    return "all questions" if part == "all" else f"questions about {part} passages"


def verdict(one: Found) -> str:
    told = f"{points(one['difference'])} points ({points(one['low'])} to {points(one['high'])})"
    if one["p_holm"] >= SIGNIFICANT:
        return f"{told}, no difference that chance does not explain."
    return f"{told}, {'a gain' if one['difference'] > 0 else 'a loss'}."


def thresholds(found: Found) -> str:
    """The published design: its rate of second searches, ours, and what they change."""
    heads = ["lowest score among the best five below", "searched again, as published"]
    heads += ["searched again, here", *_EFFECT]
    rows = [
        [f"{one['value']:+.1f}", share(PUBLISHED_FALLBACK[one["value"]]), *_swept(one)]
        for one in found["published"]["points"]
    ]
    return table(heads, rows)


def alike(found: Found) -> str:
    """Thresholds that fire here as often as the published ones did there."""
    heads = ["searched again, as published", "lowest score among the best five below"]
    pairs = zip(PUBLISHED_FALLBACK.values(), found["alike"]["points"], strict=True)
    rows = [[share(rate), f"{one['value']:+.2f}", *_swept(one)] for rate, one in pairs]
    return table([*heads, "searched again, here", *_EFFECT], rows)


def calibrated(found: Found) -> str:
    default = found["calibrated"]["default"]
    rows = [
        [f"{one['value']:.3f}{' (default)' if one['value'] == default else ''}", *_swept(one)]
        for one in found["calibrated"]["points"]
    ]
    return table(["quality below", "searched again, here", *_EFFECT], rows)


_EFFECT = ("F1", "change of F1 (95 %)", "on the questions searched again")


def _swept(one: Found) -> list[str]:
    metrics = one["metrics"]
    changed = {each["part"]: each for each in one["differences"] if each["metric"] == "f1"}
    return [
        value(metrics, "fallback_rate"),
        value(metrics, "f1"),
        *(_change(changed.get(part)) for part in ("all", "fallback")),
    ]


def _change(one: Found | None) -> str:
    if one is None:
        return NOTHING
    return f"{points(one['difference'])} ({points(one['low'])} to {points(one['high'])})"


def scores(found: Found) -> str:
    """Of the lowest score among the best five."""
    ours = found["published"]["base"]["rerank_scores"]["all"]
    names = {"mean": "mean", "median": "median", "std": "spread", "min": "lowest", "max": "highest"}
    rows = [
        ["as published", *(f"{PUBLISHED_SCORES[key]:.2f}" for key in names)],
        ["here", *(f"{ours[key]:.2f}" for key in names)],
    ]
    return table(["", *names.values()], rows)


TABLES: dict[str, tuple[tuple[str, ...], Callable[..., str]]] = {
    "beside": (("model", "embedded", "latency"), beside),
    "model": (("model",), model),
    "model-differences": (("model",), differences),
    "embedded": (("embedded", "latency"), embedded),
    "embedded-differences": (("embedded",), differences),
    "web": (("web", "latency"), web),
    "web-parts": (("web",), web_parts),
    "web-differences": (("web",), web_differences),
    "web-verdict": (("web",), web_verdict),
    "thresholds": (("thresholds",), thresholds),
    "alike": (("thresholds",), alike),
    "calibrated": (("thresholds",), calibrated),
    "scores": (("thresholds",), scores),
}
"""By the name of the block: the results it is made from, and how."""
