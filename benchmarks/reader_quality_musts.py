"""What a shipped reader must show, line by line: the figure, what is wanted, met or missed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.reader_quality_compare import REFERENCE, SHIPPED
from secondlook.settings.sections import AnswerSettings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Found = Mapping[str, Any]

MARGIN = 0.005
GAIN = 0.02
TIME = 2 / 3
SPLITS_BROKEN = 0.10
CONFIDENCE = str(AnswerSettings().risk_confidence)
"""With which the product promises; the results hold other levels beside it."""


def musts(found: Found, confidence: str = CONFIDENCE) -> list[dict[str, Any]]:
    """Both readers are in `found`. A set that was not read has no lines."""
    lines = [
        *_quality(found),
        *_answerability(found),
        *_calibration(found["calibration"], confidence),
        *_elsewhere(found["elsewhere"]),
        *_grading(found["grading"][SHIPPED]),
    ]
    return [
        {"what": what, "figure": figure, "wanted": wanted, "met": met}
        for what, figure, wanted, met in lines
    ]


def shown(lines: list[dict[str, Any]]) -> Iterator[str]:
    for line in lines:
        sign = "met   " if line["met"] else "MISSED"
        yield f"{sign} {line['what']}: {line['figure']} (wanted: {line['wanted']})"


def levels(found: Found) -> Iterator[str]:
    """Promises of the shipped reader at each confidence: splits that broke them, and coverage."""
    for group, readers in found["calibration"].items():
        for confidence, risks in readers.get(SHIPPED, {"risk": {}})["risk"].items():
            cells = [
                f"{risk}: {one['exceeded']}/{one['splits']} {one['coverage']:.3f}"
                for risk, one in risks.items()
            ]
            yield f"{group}, confidence {confidence}: {' | '.join(cells)}"


Line = tuple[str, str, str, bool]


def _quality(found: Found) -> Iterator[Line]:
    answers, time = found["answers"], found["times"]
    ratio = time.get("ratio_of_medians")
    fast = ratio is not None and ratio <= TIME
    for metric in ("em", "f1", "recall@1", "recall@5"):
        both, gap = answers[metric], answers[metric]["difference"]
        figure = (
            f"{_v(both[SHIPPED])} beside {_v(both[REFERENCE])}, difference "
            f"{gap['difference']:+.4f}, one-sided 95 % bound {gap['bound']:+.4f}, p {gap['p']}"
        )
        better = gap["low"] > 0 and gap["difference"] >= GAIN
        yield (
            f"squad2-dev {metric}, {answers['questions']} answerable questions",
            figure,
            f"bound >= -{MARGIN}, or {GAIN} above",
            gap["bound"] >= -MARGIN or better,
        )
    yield (
        f"seconds of reading per question, {time['questions']} questions",
        f"{time.get('median')}, ratio of medians {ratio}",
        f"ratio <= {TIME:.3f} (or <= 1 with {GAIN} more)",
        fast,
    )


def _answerability(found: Found) -> Iterator[Line]:
    told = found["answerability"]
    for by in ("by_answerable", "by_margin", "by_probability"):
        both = told[by]
        yield (
            f"squad2-dev AUROC answerable or not, {by.replace('_', ' ')}",
            f"{_v(both[SHIPPED])} beside {_v(both[REFERENCE])}",
            ">= 0.79 (goal 0.85)",
            both[SHIPPED]["value"] >= 0.79,
        )


def _calibration(found: Found, confidence: str) -> Iterator[Line]:
    for group in ("all", "answerable"):
        mine, other = found[group][SHIPPED], found[group][REFERENCE]
        worst = max(mine["ece_worst"], mine["ece_by_article"])
        yield (
            f"ECE, {group} questions",
            (
                f"mean {mine['ece_mean']}, worst {mine['ece_worst']}, by article "
                f"{mine['ece_by_article']} ({REFERENCE}: {other['ece_mean']})"
            ),
            "<= 0.05",
            worst <= 0.05,
        )
        for risk, promise in mine["risk"][confidence].items():
            yield (
                f"max risk {risk}, {group} questions, confidence {confidence}",
                (
                    f"exceeded in {promise['exceeded']} of {promise['splits']} splits, realised "
                    f"{promise['realised']} (most {promise['realised_most']}), coverage "
                    f"{promise['coverage']}"
                ),
                f"exceeded in <= {SPLITS_BROKEN:.0%}",
                promise["exceeded"] <= SPLITS_BROKEN * promise["splits"],
            )
    for group, risk, least in (("answerable", "0.1", 0.65), ("all", "0.25", 0.30)):
        coverage = found[group][SHIPPED]["risk"][confidence][risk]["coverage"]
        theirs = found[group][REFERENCE]["risk"][confidence][risk]["coverage"]
        yield (
            f"coverage at max risk {risk}, {group} questions",
            f"{coverage} beside {theirs}",
            f">= {least}",
            coverage >= least,
        )
    area = found["all"]["aurc"]
    yield (
        "area under the risk-coverage curve, all questions",
        f"{area['other']} beside {area['base']}: {_v(area['below'])} below",
        ">= 0.10 below",
        area["below"]["value"] >= 0.10,
    )


def _elsewhere(found: Found) -> Iterator[Line]:
    if wiki := found.get("shift-new_wiki"):
        yield _not_below("shift-new_wiki F1", wiki["f1"], wiki["questions"])
    for name, metric in (("hotpot", "recall@5"), ("scifact", "ndcg@10")):
        if one := found.get(name):
            yield _not_below(f"{name} {metric}", one[metric], one["questions"])
            gap = one["hybrid"][f"{SHIPPED} - hybrid"]
            yield (
                f"{name} {metric} reranked",
                (
                    f"{_v(one['hybrid'][SHIPPED])} beside hybrid {_v(one['hybrid']['hybrid'])}, "
                    f"p {gap['p']}"
                ),
                "not below hybrid",
                gap["difference"] >= 0 or not _is_below(gap),
            )
    if clapnq := found.get("clapnq"):
        yield _not_below(
            "clapnq AUROC by probability", clapnq["by_probability"], clapnq["questions"]
        )
        yield _not_below("clapnq AUROC by answerable", clapnq["by_answerable"], clapnq["questions"])


def _not_below(what: str, both: Found, questions: int) -> Line:
    gap = both["difference"]
    return (
        f"{what}, {questions} questions",
        (
            f"{_v(both[SHIPPED])} beside {_v(both[REFERENCE])}, difference "
            f"{gap['difference']:+.4f} [{gap['low']:+.4f}, {gap['high']:+.4f}]"
        ),
        f"not significantly below {REFERENCE}",
        not _is_below(gap),
    )


def _is_below(gap: Found) -> bool:
    return bool(gap["high"] < 0 and gap.get("p", 0.0) < 0.05)


def _grading(found: Found) -> Iterator[Line]:
    for group, depths in found.items():
        for depth, one in depths.items():
            rules = one["rules"]
            best = max(
                rules,
                key=lambda rule: min(rules[rule]["precision"] - 0.8, rules[rule]["recall"] - 0.7),
            )
            chosen = rules[best]
            yield (
                f"grading, {group}, {depth}, by {best} > {chosen['threshold']}",
                f"precision {chosen['precision']}, recall {chosen['recall']}",
                "precision >= 0.80, recall >= 0.70",
                chosen["met"],
            )


def _v(figure: Found) -> str:
    if figure["value"] is None:
        return "unknown"
    return f"{figure['value']:.4f} [{figure['low']:.4f}, {figure['high']:.4f}]"
