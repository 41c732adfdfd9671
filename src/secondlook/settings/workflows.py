"""The settings of single workflows, each with a description that errors and docs show."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)


def setting(default: Any, description: str, **limits: Any) -> Any:
    return Field(default, description=description, **limits)


def words(description: str, **limits: Any) -> Any:
    return Field((), strict=False, description=description, **limits)


class AdaptiveSettings(Section):
    enable_adaptive_retrieval: bool = setting(True, "Search again, by words, after a poor search.")
    check: Literal["calibrated", "min_rerank_score"] = setting(
        "calibrated", "How the quality of a search is judged."
    )
    min_quality: float = setting(
        -1.0, "`calibrated`: search again below this probability; -1 = as calibrated.", ge=-1, le=1
    )
    min_rerank_score: float = setting(0.0, "`min_rerank_score`: lowest among the best five.")
    dense: float = setting(0.3, "Weight of meaning in the second search.", ge=0, le=1)

    @property
    def lexical(self) -> float:
        return round(1 - self.dense, 6)


class CorrectiveSettings(Section):
    enable_grading: bool = setting(True, "Grade passages, and search again where too few fit.")
    graded: int = setting(10, "Passages to grade after a search.", ge=1, le=100)
    enable_rewriting: bool = setting(True, "Ask again in other words where too few fit.")
    max_rewrites: int = setting(3, "Most rewrites of a question.", ge=0, le=10)
    enable_following: bool = setting(True, "Look up what the best passage names (two hops).")
    enable_decomposition: bool = setting(True, "Split a question that needs several facts.")
    enable_readings: bool = setting(True, "Say which meaning of an ambiguous word was taken.")
    enable_useful_check: bool = setting(True, "Check that the answer addresses the question.")
    enable_regeneration: bool = setting(True, "Write an answer anew that is not grounded.")


class ResearchSettings(Section):
    enable_screen: bool = setting(True, "Refuse a question, or choices, that give a model orders.")
    enable_memory: bool = setting(True, "Remember research for the same question.")
    enable_recall: bool = setting(True, "Use earlier research; off = research anew.")
    memory_similarity: float = setting(
        0.92, "Cosine from which questions are the same.", ge=0, le=1
    )
    enable_classification: bool = setting(True, "Research a simple question in one step.")
    enable_multi_query: bool = setting(True, "Search each step in three wordings, not in one.")
    enable_fresh_evidence: bool = setting(True, "Leave out passages that earlier steps saw.")
    calls: Literal["merged", "separate"] = setting(
        "merged", "Plan a step and word its searches in one model call, or in two."
    )
    enable_escalation: bool = setting(True, "Go on in several steps where one step failed.")
    evaluator: Literal["calibrated", "cosine"] = setting(
        "calibrated", "Judge a step by probability, or by mean cosine of at least 0.70."
    )
    min_confidence: float = setting(
        -1.0, "A step below it failed; -1 = as calibrated.", ge=-1, le=1
    )
    enable_replanning: bool = setting(True, "Decide after each step what to research next.")
    max_steps: int = setting(3, "Most completed steps.", ge=1, le=10)
    max_cycles: int = setting(4, "Most steps tried.", ge=1, le=20)
    enable_stagnation: bool = setting(True, "Stop after three failures that bring nothing new.")
    enable_choosing: bool = setting(True, "Choose among the choices of a question.")
    guess: bool = setting(False, "Nothing found: let the model choose by its knowledge, marked.")
    vocabulary: str = setting("", "What a model should know of the field.", max_length=2000)
    structure: tuple[str, ...] = words("Parts of a step's findings, such as Rule, Exceptions.")


class AnalystSettings(Section):
    enable_understanding: bool = setting(True, "Tell questions on concepts from those on data.")
    enable_alignment: bool = setting(True, "Check that columns exist and fit before coding.")
    enable_code_check: bool = setting(True, "Refuse code that invents data or reads files.")
    max_code_attempts: int = setting(2, "Times code is written until it is judged.", ge=1, le=5)
    enable_arithmetic: bool = setting(
        True, "Check results by arithmetic; cut sentences with numbers not in the result."
    )
    enable_remediation: bool = setting(True, "Find the cause of a bad result, and try again.")
    max_remediations: int = setting(3, "Most such tries.", ge=0, le=10)


FromDocuments = Literal["linear", "adaptive", "corrective", "research"]


class Routes(Section):
    one_fact: FromDocuments = setting("linear", "Workflow for one fact from documents.")
    several_facts: FromDocuments = setting("corrective", "Workflow for several facts.")
    account: FromDocuments = setting("research", "Workflow for an account, such as a comparison.")


class AutoSettings(Section):
    routes: Routes = setting(Routes(), "The workflow for each kind of question about documents.")


class SandboxSettings(Section):
    backend: Literal["auto", "namespaces", "plain"] = setting(
        "auto", "How generated code is confined; `auto` = the first that works here."
    )
    seconds: float = setting(30.0, "Seconds until a job is stopped.", gt=0, le=600)
    memory: int = setting(1024, "Most megabytes of a job.", ge=128, le=65536)


class Servers(Section):
    """Which of its servers does the work of a role. The first of each is the default."""

    support: Literal["reader", "coverage"] = setting(
        "reader", "Judges a sentence by what it cites: the reader, or shared words."
    )
    grade: Literal["reader", "llm-batch", "llm-each"] = setting(
        "reader", "Grades passages: the reader, or a model in one call or passage by passage."
    )
    grounded: Literal["reader", "llm"] = setting(
        "reader", "Judges the answer by its evidence: `support`, or a model where unsure."
    )
    useful: Literal["reader", "llm"] = setting(
        "reader", "Judges whether the question is addressed: the reader, or a model if unsure."
    )
    screen: Literal["signs", "model"] = setting(
        "signs", "Finds orders to a model: signs, or a model where they are unclear."
    )
    classify: Literal["understander", "llm"] = setting("understander", "Tells simple questions.")
    synthesise: Literal["model", "extract"] = setting(
        "model", "Writes a step's findings: a model, or the reader word for word."
    )
    require: Literal["rules", "model"] = setting("rules", "Says what a question over tables needs.")
    query: Literal["grammar", "model"] = setting(
        "grammar", "Answers common table questions: our code first, or always a model's."
    )
    judge: Literal["checks", "model"] = setting(
        "checks", "Judges a computed result: checks alone, or also a model."
    )
    remedy: Literal["rules", "model"] = setting(
        "rules", "Finds a failure's cause: rules or a model."
    )
    explain: Literal["model", "template"] = setting("model", "Words a result: a model, or code.")
