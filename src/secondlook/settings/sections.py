"""What can be set, section by section, with what each setting is for."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

import platformdirs
from pydantic import BaseModel, ConfigDict, Field, model_validator

from secondlook.settings.languages import Language  # noqa: TC001  # pydantic reads it

APP_NAME = "secondlook"


def default_library_path() -> Path:
    return Path(platformdirs.user_data_dir(APP_NAME, appauthor=False)) / "library"


def default_runs_path() -> Path:
    return Path(platformdirs.user_data_dir(APP_NAME, appauthor=False)) / "runs.db"


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class LibrarySettings(Section):
    path: Path = Field(
        default_factory=default_library_path,
        strict=False,
        description="Folder that holds the library.",
    )
    language: Language = Field(
        default="english",
        description="Language whose stemming and stop words the lexical index uses.",
    )


class EmbeddingSettings(Section):
    model: str = Field(
        default="embedded",
        min_length=1,
        description="Embedder by name; `embedded` is the one shipped with Secondlook.",
    )
    base_url: str | None = Field(
        default=None,
        pattern=r"^https?://[^\s/]+",
        description="Address of the embedding service, for embedders that are services.",
    )
    api_key_env: str = Field(
        default="OPENAI_API_KEY",
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*$",
        description="Name of the environment variable that holds the key; never the key itself.",
    )
    threads: int = Field(default=0, ge=0, description="Threads of local models; 0 = all cores.")


class ReaderSettings(Section):
    model: str = Field(
        default="embedded",
        min_length=1,
        description="Reader by name: `embedded`, or a cross-encoder that judges relevance in its "
        "place, `sentence-transformers:NAME_OR_PATH`.",
    )


class ChunkingSettings(Section):
    tokens: int = Field(default=200, ge=16, le=8192, description="Tokens a passage aims at.")
    overlap: int = Field(default=25, ge=0, le=4096, description="Tokens that neighbours share.")

    @model_validator(mode="after")
    def _overlap_is_a_part(self) -> Self:
        if self.overlap * 2 > self.tokens:
            raise ValueError("chunking.overlap must be at most half of chunking.tokens")
        return self


class IngestSettings(Section):
    workers: int = Field(default=0, ge=0, le=256, description="Parser processes; 0 = automatic.")
    exclude: tuple[str, ...] = Field(
        default=(), strict=False, description="Patterns of files to leave out, as in .gitignore."
    )
    ocr: Literal["auto", "off"] = Field(
        default="auto",
        description="Read scanned pages where tesseract is installed, or never.",
    )
    ocr_language: str = Field(
        default="eng",
        pattern=r"^[A-Za-z0-9_]+(\+[A-Za-z0-9_]+)*$",
        description="Tesseract's language codes, such as `eng` or `deu+eng`.",
    )
    max_file_mb: int = Field(default=1024, ge=1, description="Larger files are reported, not read.")
    idle_seconds: float = Field(
        default=60.0, gt=0, description="A parser that makes no progress for so long is stopped."
    )
    commit_passages: int = Field(default=500, ge=1, description="Passages per commit, about.")
    commit_seconds: float = Field(default=5.0, gt=0, description="Seconds per commit, about.")


class SearchSettings(Section):
    k: int = Field(default=10, ge=1, le=1000, description="How many passages come back.")
    dense: float = Field(default=0.7, ge=0, le=1, description="Weight of the search by meaning.")
    lexical: float = Field(default=0.3, ge=0, le=1, description="Weight of the search by words.")
    rrf_k: int = Field(default=5, ge=1, le=10_000, description="Constant of rank fusion.")
    pool: int = Field(
        default=100, ge=1, le=10_000, description="Passages each of the two searches contributes."
    )
    candidates: int = Field(
        default=20, ge=1, le=1000, description="Passages that the reader glances at."
    )
    looks: int = Field(
        default=6, ge=1, le=1000, description="Passages that it looks at: the best by the glance."
    )
    rerank: bool = Field(default=True, description="Look twice: rerank the best candidates.")
    blend: float = Field(
        default=0.8,
        ge=0,
        le=1,
        description="Share of the reranker in the order; 0 = fusion only.",
    )

    @model_validator(mode="after")
    def _searches_at_all(self) -> Self:
        if self.dense == 0 and self.lexical == 0:
            raise ValueError("search.dense and search.lexical must not both be 0")
        return self


class AnswerSettings(Section):
    workflow: str = Field(
        default="linear",
        pattern=r"^[a-z_]+$",
        description="Which workflow answers; `secondlook graph` lists them.",
    )
    k: int = Field(default=5, ge=1, le=100, description="Passages an answer may rest on.")
    packing: Literal["auto", "sentences", "passages"] = Field(
        default="auto",
        description="Evidence for a model: the sentences that matter, or whole passages; "
        "`auto` gives local models sentences.",
    )
    evidence_tokens: int = Field(
        default=0, ge=0, description="Most tokens of evidence for a model; 0 = what fits."
    )
    judge: Literal["reader", "coverage"] = Field(
        default="reader",
        description="Who judges what a sentence cites: the trained `reader`, or `coverage`, which "
        "counts words.",
    )
    min_support: float = Field(
        default=0.6, ge=0, le=1, description="Support a sentence needs to stay in an answer."
    )
    min_confidence: float = Field(
        default=-1.0,
        ge=-1,
        le=1,
        description="Below it an extracted answer is withheld; -1 = as calibrated.",
    )
    max_risk: float | None = Field(
        default=None,
        gt=0,
        lt=1,
        description="Answer only so that at most this share of the answers is wrong.",
    )
    risk_confidence: float = Field(
        default=0.99, gt=0, lt=1, description="How sure it must be that `max_risk` is kept."
    )
    unsupported: Literal["cut", "mark"] = Field(
        default="cut", description="What happens to a sentence that the evidence does not support."
    )
    enable_sentence_check: bool = Field(
        default=True, description="Check each sentence of an answer against what it cites."
    )
    enable_abstention: bool = Field(
        default=True, description="Withhold an answer that the evidence does not carry."
    )
    enable_answer_grading: bool = Field(
        default=False,
        description="Have a model judge the finished answer, and once have it written more "
        "strictly where it says no.",
    )


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
        default=True, description="Ask a model where the signs of such orders are unclear."
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


class WebSettings(Section):
    enable_web_search: bool = Field(
        default=False, description="Look on the web where the library looks poor (`--web`)."
    )
    backend: Literal["searxng", "duckduckgo"] = Field(
        default="duckduckgo", description="Who searches the web."
    )
    url: str | None = Field(
        default=None, pattern=r"^https?://[^\s/]+", description="Address of the SearXNG server."
    )
    min_quality: float = Field(
        default=-1.0,
        ge=-1,
        le=1,
        description="Quality below which the web is searched; -1 = as calibrated.",
    )
    after: Literal["rewrites", "first"] = Field(
        default="rewrites",
        description="When `corrective` looks on the web: after asking again in other words, or "
        "after the first search where less than half of it fits.",
    )
    results: int = Field(default=5, ge=1, le=50, description="Pages that are read.")
    timeout: float = Field(default=10.0, gt=0, description="Seconds for the search and each page.")
    max_kb: int = Field(default=2048, ge=1, description="Of a larger page only the start is read.")
    allow_private: bool = Field(default=False, description="Read pages on private addresses too.")


class ModelSettings(Section):
    default: str = Field(
        default="none",
        min_length=1,
        description="Model of every role without its own, `provider:model`; `none` = no model.",
    )
    roles: tuple[str, ...] = Field(
        default=(),
        strict=False,
        description="Models of single roles, `role=provider:model` or "
        "`workflow.role=provider:model`.",
    )
    options: tuple[str, ...] = Field(
        default=(),
        strict=False,
        description="Options of single roles, such as `answer.temperature=0.3`.",
    )
    context_tokens: int = Field(
        default=0, ge=0, description="How much the model can see; 0 = as probed or known."
    )
    timeout: float = Field(default=120.0, gt=0, description="Seconds one model call may take.")
    retries: int = Field(default=2, ge=0, le=10, description="Tries after a failed call.")
    prices: Path | None = Field(
        default=None, strict=False, description="A TOML file of prices that override ours."
    )


class BudgetSettings(Section):
    calls: int = Field(default=0, ge=0, description="Model calls per question; 0 = no cap.")
    tokens: int = Field(default=0, ge=0, description="Tokens per question; 0 = no cap.")
    money: float = Field(default=0.0, ge=0, description="US dollars per question; 0 = no cap.")
    seconds: float = Field(default=0.0, ge=0, description="Seconds per question; 0 = no cap.")


class RunSettings(Section):
    path: Path = Field(
        default_factory=default_runs_path,
        strict=False,
        description="File that holds the record of runs.",
    )
    keep: int = Field(default=1000, ge=0, description="Runs that are kept; 0 = none is stored.")


class Settings(Section):
    library: LibrarySettings = Field(default_factory=LibrarySettings)
    embedding: EmbeddingSettings = Field(default_factory=EmbeddingSettings)
    reader: ReaderSettings = Field(default_factory=ReaderSettings)
    chunking: ChunkingSettings = Field(default_factory=ChunkingSettings)
    ingest: IngestSettings = Field(default_factory=IngestSettings)
    search: SearchSettings = Field(default_factory=SearchSettings)
    answer: AnswerSettings = Field(default_factory=AnswerSettings)
    adaptive: AdaptiveSettings = Field(default_factory=AdaptiveSettings)
    corrective: CorrectiveSettings = Field(default_factory=CorrectiveSettings)
    research: ResearchSettings = Field(default_factory=ResearchSettings)
    web: WebSettings = Field(default_factory=WebSettings)
    models: ModelSettings = Field(default_factory=ModelSettings)
    budget: BudgetSettings = Field(default_factory=BudgetSettings)
    runs: RunSettings = Field(default_factory=RunSettings)


SECTIONS: dict[str, type[Section]] = {
    "library": LibrarySettings,
    "embedding": EmbeddingSettings,
    "reader": ReaderSettings,
    "chunking": ChunkingSettings,
    "ingest": IngestSettings,
    "search": SearchSettings,
    "answer": AnswerSettings,
    "adaptive": AdaptiveSettings,
    "corrective": CorrectiveSettings,
    "research": ResearchSettings,
    "web": WebSettings,
    "models": ModelSettings,
    "budget": BudgetSettings,
    "runs": RunSettings,
}
