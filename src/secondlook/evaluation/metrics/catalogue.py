"""Every metric by its stable name. docs/metrics.md defines each with an example; a test holds the
two together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Better = Literal["higher", "lower", "neither"]
Over = Literal[
    "gold",
    "scored",
    "answered",
    "claims",
    "choices",
    "unanswerable",
    "all",
    "graded",
    "researched",
    "tables",
]
"""Which questions a metric is over: those with gold passages (and answerable), those with a right
answer to compare with, those that were answered, those whose answer has checked claims, those of
multiple choice, those without an answer, all, those where a grader judged something, those that
were researched, and those over tables."""
Group = Literal["retrieval", "answers", "truth", "knowing", "graders", "behaviour", "cost"]


@dataclass(frozen=True, slots=True)
class Metric:
    name: str
    group: Group
    over: Over
    about: str
    """In a few words, for tables."""
    better: Better = "higher"
    per_question: bool = True
    """It is a figure of each question (`Row.metrics`) and their mean; else one of all rows."""
    yes_no: bool = False
    """Each question's figure is 0 or 1, so that McNemar's test applies."""


def _of_all(name: str, group: Group, over: Over, about: str, better: Better) -> Metric:
    return Metric(name, group, over, about, better, per_question=False)


def _retrieval(suffix: str, when: str) -> list[Metric]:
    return [
        *(
            Metric(f"recall@{k}{suffix}", "retrieval", "gold", f"gold among the best {k}, {when}")
            for k in (1, 5, 20)
        ),
        Metric(f"mrr{suffix}", "retrieval", "gold", f"1 / rank of the first gold, {when}"),
        Metric(f"ndcg@10{suffix}", "retrieval", "gold", f"order of the best 10, {when}"),
    ]


_METRICS = [
    *_retrieval("", "as answered from"),
    *_retrieval("_before", "before reranking"),
    Metric("recall_shown", "retrieval", "gold", "gold among the passages shown"),
    Metric("shown", "retrieval", "all", "passages shown", "neither"),
    # Of `Answer.short`; `text_...` of `Answer.text`. Nothing answered counts 0.
    Metric("em", "answers", "scored", "exact match", yes_no=True),
    Metric("f1", "answers", "scored", "words shared"),
    Metric("f1_overall", "answers", "all", "F1; withheld is right where there is no answer"),
    Metric("f1_length_aware", "answers", "scored", "F1 of the text that forgives a sentence"),
    Metric("rouge_l", "answers", "scored", "longest common run of words"),
    Metric("contains", "answers", "scored", "holds a right answer", yes_no=True),
    Metric("text_em", "answers", "scored", "exact match of the text", yes_no=True),
    Metric("text_f1", "answers", "scored", "words shared with the text"),
    Metric("text_rouge_l", "answers", "scored", "longest common run, of the text"),
    Metric("text_contains", "answers", "scored", "the text holds a right answer", yes_no=True),
    Metric("accuracy", "answers", "choices", "right letter", yes_no=True),
    Metric("ungrounded", "answers", "choices", "letters without a source", "lower", yes_no=True),
    # Of `Answer.values`, held against the values that are right.
    Metric("values_accuracy", "answers", "tables", "all values right", yes_no=True),
    Metric("values_proportional", "answers", "tables", "share of its values that is right"),
    _of_all("values_by_part", "answers", "tables", "values right, of all wanted", "higher"),
    Metric("faithfulness", "truth", "answered", "sentences like a sentence of the evidence"),
    Metric("faithfulness_cosine", "truth", "answered", "the same by the cosine as it is"),
    Metric("support", "truth", "claims", "support of the claims, as the answer was checked"),
    Metric("citation_precision", "truth", "answered", "citations that are gold"),
    Metric("citation_recall", "truth", "scored", "gold documents that are cited"),
    Metric("prompt_leak", "truth", "answered", "instructions in the answer", "lower", yes_no=True),
    Metric("answered", "knowing", "all", "share answered", "neither", yes_no=True),
    Metric("answered_answerable", "knowing", "scored", "answered, of the answerable", yes_no=True),
    _of_all("wrong_among_answered", "knowing", "answered", "wrong, of the answered", "lower"),
    Metric("refused_unanswerable", "knowing", "unanswerable", "withheld rightly", yes_no=True),
    _of_all("auroc", "knowing", "answered", "confidence tells right from wrong", "higher"),
    _of_all("aurc", "knowing", "answered", "area under risk and coverage", "lower"),
    _of_all("ece", "knowing", "answered", "calibration error of confidence", "lower"),
    _of_all("false_rejection_gold", "graders", "graded", "gold rejected", "lower"),
    _of_all("false_rejection_gold@1", "graders", "graded", "gold at rank 1 rejected", "lower"),
    _of_all("false_acceptance", "graders", "graded", "not gold, yet accepted", "lower"),
    _of_all("grading_precision", "graders", "graded", "gold, of the accepted", "higher"),
    _of_all("grading_recall", "graders", "graded", "accepted, of the gold", "higher"),
    _of_all("seconds_per_10_graded", "graders", "graded", "time per 10 passages", "lower"),
    Metric("success", "behaviour", "all", "right, or rightly withheld", yes_no=True),
    Metric("retry_rate", "behaviour", "all", "asked again at least once", "neither", yes_no=True),
    Metric("mean_retries", "behaviour", "all", "retries", "lower"),
    Metric("fallback_rate", "behaviour", "all", "searched again", "neither", yes_no=True),
    Metric("web_rate", "behaviour", "all", "looked on the web", "neither", yes_no=True),
    Metric("regenerations", "behaviour", "all", "times the answer was written anew", "lower"),
    Metric("grounded", "behaviour", "answered", "found to rest on its evidence", yes_no=True),
    Metric("useful", "behaviour", "answered", "found to address the question", yes_no=True),
    Metric("needs_review", "behaviour", "all", "a person should look", "lower", yes_no=True),
    Metric("failed", "behaviour", "all", "failed", "lower", yes_no=True),
    # Of `Answer.research`, where there is one.
    Metric("multi_hop", "behaviour", "researched", "taken for hard", "neither", yes_no=True),
    Metric("escalated", "behaviour", "researched", "hard after all", "neither", yes_no=True),
    Metric("cycles", "behaviour", "researched", "steps tried", "lower"),
    Metric("steps_completed", "behaviour", "researched", "steps completed", "neither"),
    Metric("steps_weak", "behaviour", "researched", "steps kept with a caveat", "neither"),
    Metric("steps_failed", "behaviour", "researched", "steps that failed", "lower"),
    Metric("steps_pending", "behaviour", "researched", "steps that were not made", "lower"),
    Metric("screened_out", "behaviour", "researched", "refused", "neither", yes_no=True),
    Metric("screen_unclear", "behaviour", "researched", "let through", "lower", yes_no=True),
    Metric("quarantined", "behaviour", "researched", "passages kept out of prompts", "neither"),
    Metric("memory_hit", "behaviour", "researched", "from memory", "neither", yes_no=True),
    # Of `Answer.analysis`, where the question is over a table.
    Metric("computed", "behaviour", "tables", "without written code", "neither", yes_no=True),
    Metric("code_attempts", "behaviour", "tables", "times code was written", "lower"),
    _of_all("code_error_rate", "behaviour", "tables", "attempts without a result", "lower"),
    Metric("remediations", "behaviour", "tables", "remedies tried", "lower"),
    Metric("llm_calls", "cost", "all", "model calls", "lower"),
    Metric("tokens_in", "cost", "all", "tokens read by models", "lower"),
    Metric("tokens_out", "cost", "all", "tokens written by models", "lower"),
    Metric("tokens_cached", "cost", "all", "of those, cached by the provider", "neither"),
    Metric("characters_in", "cost", "all", "characters read by models", "lower"),
    Metric("characters_out", "cost", "all", "characters written by models", "lower"),
    Metric("parse_failures", "cost", "all", "replies that could not be read", "lower"),
    Metric("cost", "cost", "all", "US dollars", "lower"),
    _of_all("latency_p50", "cost", "all", "seconds, median", "lower"),
    _of_all("latency_p95", "cost", "all", "seconds, 95 of 100", "lower"),
]

METRICS: dict[str, Metric] = {metric.name: metric for metric in _METRICS}
