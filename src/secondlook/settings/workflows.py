"""The settings of single workflows, each with a description that errors and docs show."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def setting(default: Any, description: str, **limits: Any) -> Any:
    return Field(default, description=description, **limits)


def words(description: str, **limits: Any) -> Any:
    """A list of strings; TOML arrays become tuples."""
    return Field((), strict=False, description=description, **limits)


class AdaptiveSettings(Section):
    enable_adaptive_retrieval: bool = setting(
        True, "Search again, by words, where the first search looks poor."
    )
    check: Literal["calibrated", "min_rerank_score"] = setting(
        "calibrated", "How the quality of a search is judged."
    )
    min_quality: float = setting(
        -1.0,
        "Probability below which `calibrated` searches again; -1 = as calibrated.",
        ge=-1,
        le=1,
    )
    min_rerank_score: float = setting(
        0.0, "Lowest relevance among the best five for `min_rerank_score`."
    )
    dense: float = setting(
        0.3, "Weight of meaning in the second search; words have the rest.", ge=0, le=1
    )
    candidates: int = setting(40, "Depth of the second search.", ge=1, le=1000)
    pooling: Literal["merge", "replace"] = setting(
        "merge", "Pool both searches, or keep the second alone."
    )

    @property
    def lexical(self) -> float:
        return round(1 - self.dense, 6)


class CorrectiveSettings(Section):
    enable_grading: bool = setting(
        True, "Grade what was found, and search again where too little fits."
    )
    few_shot: Literal["auto", "on", "off"] = setting(
        "auto", "Show a grading model examples; `auto` = as the probe of the model found."
    )
    graded: int = setting(10, "Passages graded after a search.", ge=1, le=100)
    min_relevant: int = setting(3, "Passages about the question that are enough.", ge=1, le=100)
    enable_rewriting: bool = setting(True, "Ask again in other words where too little fits.")
    max_rewrites: int = setting(3, "Times it is asked again.", ge=0, le=10)
    enable_following: bool = setting(
        True, "Look up what the best passage names, where the question asks beyond it."
    )
    enable_decomposition: bool = setting(True, "Split a question that needs several facts.")
    enable_readings: bool = setting(True, "Say which meaning of an ambiguous word was taken.")
    enable_useful_check: bool = setting(True, "Check that the answer addresses the question.")
    enable_regeneration: bool = setting(True, "Have an answer that is not grounded written anew.")
    max_regenerations: int = setting(2, "Times an answer is written anew.", ge=0, le=10)


class ResearchSettings(Section):
    enable_screen: bool = setting(True, "Refuse a question, or choices, that give a model orders.")
    enable_memory: bool = setting(
        True, "Remember research, and use it where the question is the same."
    )
    enable_recall: bool = setting(
        True, "Look for earlier research; off = always research, and remember that."
    )
    memory_similarity: float = setting(
        0.92, "How alike two questions must be to be the same.", ge=0, le=1
    )
    enable_classification: bool = setting(
        True, "Research a simple question in one step; off = never."
    )
    enable_multi_query: bool = setting(True, "Search each step in three wordings, not in one.")
    enable_fresh_evidence: bool = setting(True, "Leave out what earlier steps were shown.")
    calls: Literal["merged", "separate"] = setting(
        "merged", "Plan a step and word its searches in one model call, or in two."
    )
    rerank_against: Literal["question", "query"] = setting(
        "question", "What passages are read for: the step's question, or its first search query."
    )
    enable_synthesis_of_failed: bool = setting(
        False, "Have findings written even where a step's evidence fails."
    )
    enable_escalation: bool = setting(
        True, "Go on in several steps where the only step of a simple question failed."
    )
    evaluator: Literal["calibrated", "cosine"] = setting(
        "calibrated",
        "What a step is judged by: the probability that its passages answer it, or their mean "
        "likeness to the query, at least 0.70.",
    )
    min_confidence: float = setting(
        -1.0, "Below it a step has failed; -1 = as calibrated.", ge=-1, le=1
    )
    enable_replanning: bool = setting(True, "Decide after each step what to research next.")
    max_steps: int = setting(3, "Steps that may be completed.", ge=1, le=10)
    max_cycles: int = setting(4, "Steps that may be tried.", ge=1, le=20)
    enable_stagnation: bool = setting(True, "Stop after three failures that bring nothing new.")
    enable_choosing: bool = setting(True, "Choose among the choices of a question that has some.")
    guess: bool = setting(
        False,
        "Where nothing was found, let the model choose from its own knowledge; such a choice is "
        "marked.",
    )
    vocabulary: str = setting(
        "", "What to tell a model about the words of a field.", max_length=2000
    )
    structure: tuple[str, ...] = words(
        "What the findings of a step tell, in order, such as Rule, Exceptions."
    )


class AnalystSettings(Section):
    enable_understanding: bool = setting(
        True, "Tell a question about a concept from one over the data."
    )
    enable_alignment: bool = setting(
        True, "Check that the columns are there and fit before code is written."
    )
    max_alignments: int = setting(2, "Times that is checked before it is given up.", ge=1, le=5)
    enable_code_check: bool = setting(
        True,
        "Refuse code that invents its data, reads files or does not use the tables.",
    )
    max_code_attempts: int = setting(
        2, "Times code is written before its failure is judged.", ge=1, le=5
    )
    enable_arithmetic: bool = setting(
        True,
        "Check results by arithmetic, such as a correlation within -1..1, and cut sentences with "
        "a number that the result does not hold.",
    )
    enable_remediation: bool = setting(
        True, "Find the cause of a result that cannot stand, and try again."
    )
    max_remediations: int = setting(3, "Times that is tried.", ge=0, le=10)


FromDocuments = Literal["linear", "adaptive", "corrective", "research"]


class Routes(Section):
    one_fact: FromDocuments = setting(
        "linear", "Workflow for a question that asks for one fact from documents."
    )
    several_facts: FromDocuments = setting("corrective", "Workflow for one that needs several.")
    account: FromDocuments = setting(
        "research", "Workflow for one that asks for an account, such as a comparison."
    )


class AutoSettings(Section):
    routes: Routes = setting(Routes(), "The workflow for each kind of question about documents.")


class SandboxSettings(Section):
    backend: Literal["auto", "namespaces", "plain", "bubblewrap"] = setting(
        "auto",
        "How generated code is confined: the first that works here, or this one. There is no way "
        "to run it unconfined.",
    )
    seconds: float = setting(30.0, "Until a job is stopped.", gt=0, le=600)
    memory: int = setting(1024, "Megabytes that a job may use.", ge=128, le=65536)


class Servers(Section):
    """Which of its servers does the work of a role. The first of each is the default."""

    support: Literal["reader", "coverage"] = setting(
        "reader", "Judges what a sentence cites: the trained reader, or counting words."
    )
    grade: Literal["reader", "llm-batch", "llm-each"] = setting(
        "reader", "Grades passages: the reader, or a model in one call or passage by passage."
    )
    grounded: Literal["reader", "llm"] = setting(
        "reader",
        "Judges the whole answer against its evidence: the server of `support`, or a model where "
        "the reader is unsure.",
    )
    useful: Literal["reader", "llm"] = setting(
        "reader",
        "Judges whether an answer addresses the question: the reader, or a model where it is "
        "unsure.",
    )
    screen: Literal["signs", "model"] = setting(
        "signs", "Finds orders to a model in a question: signs, or a model where they are unclear."
    )
    classify: Literal["rules", "llm"] = setting("rules", "Tells simple questions.")
    synthesise: Literal["model", "extract"] = setting(
        "model", "Writes a step's findings: a model, or the reader, word for word."
    )
    require: Literal["rules", "model"] = setting("rules", "Says what a question over tables needs.")
    query: Literal["grammar", "model"] = setting(
        "grammar",
        "Computes common questions over tables: our own code first, or always a model's code.",
    )
    judge: Literal["checks", "model"] = setting(
        "checks", "Judges a computed result: checks alone, or also a model."
    )
    remedy: Literal["rules", "model"] = setting(
        "rules", "Finds the cause of a failure: rules that read it, or a model."
    )
    explain: Literal["template", "model"] = setting(
        "template", "Puts a result into words: code, or a model."
    )
