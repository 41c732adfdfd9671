"""What can be set of single workflows, with what each setting is for."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

# What all sections of the settings have in common.


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class AdaptiveSettings(Section):
    enable_adaptive_retrieval: bool = Field(
        default=True, description="Search again, by words, where the first search looks poor."
    )
    check: Literal["calibrated", "min_rerank_score"] = Field(
        default="calibrated", description="How the quality of a search is judged."
    )
    min_quality: float = Field(
        default=-1.0,
        ge=-1,
        le=1,
        description="Probability below which `calibrated` searches again; -1 = as calibrated.",
    )
    min_rerank_score: float = Field(
        default=0.0, description="Lowest relevance among the best five for `min_rerank_score`."
    )
    dense: float = Field(default=0.3, ge=0, le=1, description="Weight of meaning, second search.")
    lexical: float = Field(default=0.7, ge=0, le=1, description="Weight of words, second search.")
    candidates: int = Field(default=40, ge=1, le=1000, description="Depth of the second search.")
    pooling: Literal["merge", "replace"] = Field(
        default="merge", description="Pool both searches, or keep the second alone."
    )


class CorrectiveSettings(Section):
    enable_grading: bool = Field(
        default=True, description="Grade what was found, and search again where too little fits."
    )
    grader: Literal["reader", "llm-batch", "llm-each", "auto"] = Field(
        default="reader",
        description="Who grades: the reader, a model in one call or passage by passage, or `auto`: "
        "a model that grades well is asked where the reader is unsure.",
    )
    few_shot: Literal["auto", "on", "off"] = Field(
        default="auto",
        description="Show a grading model examples; `auto` = as the probe of the model found.",
    )
    graded: int = Field(default=10, ge=1, le=100, description="Passages graded after a search.")
    min_relevant: int = Field(
        default=3, ge=1, le=100, description="Passages about the question that are enough."
    )
    enable_rewriting: bool = Field(
        default=True, description="Ask again in other words where too little fits."
    )
    max_rewrites: int = Field(default=3, ge=0, le=10, description="Times it is asked again.")
    enable_following: bool = Field(
        default=True,
        description="Look up what the best passage names, where the question asks beyond it.",
    )
    follow_below: float = Field(
        default=0.8,
        ge=0,
        le=1,
        description="Share of the question's words in the best passage below which it asks beyond.",
    )
    enable_decomposition: bool = Field(
        default=True, description="Split a question that needs several facts."
    )
    max_parts: int = Field(default=4, ge=2, le=10, description="Questions one is split into.")
    enable_readings: bool = Field(
        default=True, description="Tell what a word that may mean several things was taken for."
    )
    enable_grounded_check: bool = Field(
        default=True, description="Check the whole answer against its evidence."
    )
    grounded_judge: Literal["reader", "similarity", "llm"] = Field(
        default="reader",
        description="Who judges that: the judge of `answer.judge`, likeness of meaning, or a model "
        "where the reader is unsure.",
    )
    enable_useful_check: bool = Field(
        default=True, description="Check that the answer addresses the question."
    )
    useful_judge: Literal["reader", "llm"] = Field(
        default="reader",
        description="Who judges that: the reader, or a model where the reader is unsure.",
    )
    enable_regeneration: bool = Field(
        default=True, description="Have an answer that is not grounded written anew."
    )
    max_regenerations: int = Field(
        default=2, ge=0, le=10, description="Times an answer is written anew."
    )


class ResearchSettings(Section):
    enable_screen: bool = Field(
        default=True, description="Refuse a question, or choices, that give a model orders."
    )
    enable_screen_model: bool = Field(
        default=False, description="Ask a model where the signs of such orders are unclear."
    )
    enable_quarantine: bool = Field(
        default=True, description="Keep passages that give a model orders out of prompts."
    )
    enable_memory: bool = Field(
        default=True, description="Remember research, and use it where the question is the same."
    )
    enable_recall: bool = Field(
        default=True, description="Look for earlier research; off = ask afresh, and remember that."
    )
    memory_similarity: float = Field(
        default=0.92, ge=0, le=1, description="How alike two questions must be to be the same."
    )
    enable_classification: bool = Field(
        default=True, description="Research a simple question in one step; off = never."
    )
    classifier: Literal["rules", "llm"] = Field(
        default="rules", description="Who tells simple questions: rules, or a model."
    )
    enable_escalation: bool = Field(
        default=True, description="Go on in several steps where the only step of a plan failed."
    )
    enable_issues: bool = Field(
        default=False,
        description="Have a model turn the choices into neutral questions where the question alone "
        "names no facts.",
    )
    enable_multi_query: bool = Field(
        default=True, description="Search each step in three wordings, not in one."
    )
    calls: Literal["merged", "separate"] = Field(
        default="merged",
        description="Plan a step and word its searches in one model call, or in two.",
    )
    enable_fresh_evidence: bool = Field(
        default=True, description="Leave out what earlier steps were shown."
    )
    rerank_against: Literal["question", "primary"] = Field(
        default="question",
        description="What passages are read for: the step's question, or its first search query.",
    )
    synthesis: Literal["model", "extract"] = Field(
        default="model",
        description="Who writes a step's findings: a model, or the reader, word for word.",
    )
    enable_synthesis_of_failed: bool = Field(
        default=False, description="Have findings written even where a step's evidence fails."
    )
    evaluator: Literal["calibrated", "cosine"] = Field(
        default="calibrated",
        description="What a step is judged by: the probability that its passages answer it, or "
        "their mean likeness to the query.",
    )
    min_confidence: float = Field(
        default=-1.0,
        ge=-1,
        le=1,
        description="Below it a step has failed; -1 = as calibrated.",
    )
    min_cosine: float = Field(
        default=0.70, ge=-1, le=1, description="The same for the evaluator `cosine`."
    )
    weak_margin: float = Field(
        default=-1.0,
        ge=-1,
        le=1,
        description="So near the threshold a step is weak: kept with a caveat; -1 = as measured.",
    )
    enable_replanning: bool = Field(
        default=True, description="Decide after each step what to research next."
    )
    max_steps: int = Field(default=3, ge=1, le=10, description="Steps that may be completed.")
    max_cycles: int = Field(default=4, ge=1, le=20, description="Steps that may be tried.")
    enable_stagnation: bool = Field(
        default=True, description="Stop after three failures that bring nothing new."
    )
    stagnation_spread: float = Field(
        default=-1.0,
        ge=-1,
        le=1,
        description="Failures whose scores differ by less are all the same; -1 = as measured.",
    )
    enable_grounded_check: bool = Field(
        default=True, description="Check each sentence of a step, and of the whole."
    )
    enable_choosing: bool = Field(
        default=True, description="Choose among the choices of a question that has some."
    )
    enable_shuffled_choice: bool = Field(
        default=False, description="Choose twice, in another order: two calls."
    )
    guess: bool = Field(
        default=False,
        description="Where nothing was found, let the model choose from its own knowledge; such a "
        "choice is marked.",
    )
    vocabulary: str = Field(
        default="", max_length=2000, description="What to tell a model about the words of a field."
    )
    structure: tuple[str, ...] = Field(
        default=(),
        strict=False,
        description="What the findings of a step tell, in order, such as Rule, Exceptions.",
    )


class AnalystSettings(Section):
    enable_understanding: bool = Field(
        default=True, description="Tell a question about a concept from one over the data."
    )
    requirements: Literal["rules", "model"] = Field(
        default="rules",
        description="Who says what a question needs: rules, or a model where there is one.",
    )
    enable_grammar: bool = Field(
        default=True,
        description="Compute common questions by our own code, also where there is a model.",
    )
    enable_alignment: bool = Field(
        default=True, description="Check that the columns are there and fit before code is written."
    )
    max_alignments: int = Field(
        default=2, ge=1, le=5, description="Times that is checked before it is given up."
    )
    enable_code_check: bool = Field(
        default=True,
        description="Refuse code that invents its data, reads files or does not use the tables.",
    )
    max_code_attempts: int = Field(
        default=2, ge=1, le=5, description="Times code is written before its failure is judged."
    )
    enable_variation: bool = Field(
        default=True,
        description="Run code again on shuffled and on changed rows: its result must follow.",
    )
    enable_arithmetic: bool = Field(
        default=True, description="Check results by arithmetic, such as a correlation within -1..1."
    )
    enable_recomputation: bool = Field(
        default=True, description="Compute simple results a second time, by our own code."
    )
    enable_judgement: bool = Field(
        default=False, description="Have a model judge whether method and answer are complete."
    )
    enable_remediation: bool = Field(
        default=True, description="Find the cause of a result that cannot stand, and try again."
    )
    remedies: Literal["rules", "model"] = Field(
        default="rules",
        description="Who finds the cause: rules that read the failure, or a model.",
    )
    max_remediations: int = Field(default=3, ge=0, le=10, description="Times that is tried.")
    explain: Literal["template", "model"] = Field(
        default="template",
        description="Who puts a result into words: code, or a model where there is one.",
    )
    enable_number_check: bool = Field(
        default=True, description="Cut sentences with a number that the result does not hold."
    )
    enable_charts: bool = Field(
        default=True, description="Draw a chart where a question asks for one."
    )
    profile_tokens: int = Field(
        default=700, ge=100, le=20000, description="How long the profile shown to a model may be."
    )


FromDocuments = Literal["linear", "adaptive", "corrective", "research"]


class AutoSettings(Section):
    one_fact: FromDocuments = Field(
        default="linear", description="Who answers a question for one fact from documents."
    )
    several_facts: FromDocuments = Field(
        default="corrective", description="Who answers one that needs several."
    )
    account: FromDocuments = Field(
        default="research",
        description="Who answers one that asks for an account, such as a comparison.",
    )
    enable_comparison: bool = Field(
        default=True,
        description="Where documents and tables may both answer: look into both, take the surer.",
    )
    enable_parts: bool = Field(
        default=True,
        description="Put the parts of a question that needs a document and a table to each.",
    )
    enable_second_try: bool = Field(
        default=True,
        description="Where documents do not answer, try the tables once, and the other way round.",
    )


class SandboxSettings(Section):
    backend: Literal["auto", "namespaces", "plain", "bubblewrap"] = Field(
        default="auto",
        description="How generated code is confined: the first that works here, or this one. There "
        "is no way to run it unconfined.",
    )
    seconds: float = Field(default=30.0, gt=0, le=600, description="Until a job is stopped.")
    memory: int = Field(default=1024, ge=128, le=65536, description="Megabytes that a job may use.")
