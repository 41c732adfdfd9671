"""What can be set, section by section, with what each setting is for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Final, Literal, Self
from urllib.parse import parse_qsl, urlencode

import platformdirs
from pydantic import AfterValidator, Field, Secret, model_validator

from secondlook.settings.mistakes import nearest
from secondlook.settings.workflows import (
    AdaptiveSettings,
    AnalystSettings,
    AutoSettings,
    CorrectiveSettings,
    ResearchSettings,
    SandboxSettings,
    Section,
)

# How the server is reached, and how much it takes on. A folder's own file sets none of it.

DEFAULT_LIBRARY = "default"
"""What the library that the server was started with is called in addresses."""
_LIBRARY_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_ORIGIN = re.compile(r"https?://[^\s/]+")


class ServeSettings(Section):
    host: str = Field(
        default="127.0.0.1",
        min_length=1,
        description="Address that the server listens on; any but this machine's own needs a token.",
    )
    port: int = Field(
        default=8765, ge=0, le=65535, description="Port that it listens on; 0 = one that is free."
    )
    token_env: str = Field(
        default="SECONDLOOK_TOKEN",
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*$",
        description="Name of the environment variable that holds the token; never the token.",
    )
    libraries: tuple[str, ...] = Field(
        default=(),
        strict=False,
        description="Further libraries to serve, `name=path`; paths are absolute or begin with ~.",
    )
    roots: tuple[str, ...] = Field(
        default=(),
        strict=False,
        description="Folders whose files a client may have added by path; none = uploads alone.",
    )
    hosts: tuple[str, ...] = Field(
        default=(),
        strict=False,
        description="Further names that the server may be called by, such as those of a proxy.",
    )
    origins: tuple[str, ...] = Field(
        default=(),
        strict=False,
        description="Further origins whose requests are taken, such as `https://papers.example`.",
    )
    concurrency: int = Field(
        default=0, ge=0, description="Questions worked on at once; 0 = as many as cores."
    )
    queue: int = Field(
        default=100, ge=0, description="Questions that may wait; one more is refused (429)."
    )
    drain_seconds: float = Field(
        default=20.0,
        ge=0,
        description="Told to end (SIGTERM), seconds for each question to finish the step it is at.",
    )
    max_upload_mb: int = Field(
        default=200, ge=1, le=100_000, description="Megabytes that one upload may have in all."
    )
    files_per_upload: int = Field(default=50, ge=1, description="Files that one upload may have.")
    question_characters: int = Field(
        default=4000, ge=1, description="Characters that a question may have."
    )
    metrics: bool = Field(
        default=False, description="Serve /metrics for Prometheus; needs the extra `telemetry`."
    )

    @model_validator(mode="after")
    def _are_of_the_right_form(self) -> Self:
        for given in self.libraries:
            name, equals, path = given.partition("=")
            if not equals or not _LIBRARY_NAME.fullmatch(name) or name == DEFAULT_LIBRARY:
                raise ValueError(
                    f"serve.libraries has {given!r}, which is not of the form name=path with a "
                    f"name of small letters, digits, - and _ (and not {DEFAULT_LIBRARY!r})"
                )
            _absolute("serve.libraries", path)
        for given in self.roots:
            _absolute("serve.roots", given)
        for given in self.origins:
            if not _ORIGIN.fullmatch(given):
                raise ValueError(
                    f"serve.origins has {given!r}, which is no origin such as https://papers.example"
                )
        return self

    @property
    def library_paths(self) -> dict[str, Path]:
        """The further libraries by name."""
        pairs = (given.partition("=") for given in self.libraries)
        return {name: Path(path).expanduser() for name, _, path in pairs}

    @property
    def root_paths(self) -> tuple[Path, ...]:
        return tuple(Path(given).expanduser() for given in self.roots)


def _absolute(key: str, path: str) -> None:
    # A server's working folder is an accident: nothing may depend on it.
    if not (path.startswith(("~", "s3://")) or Path(path).is_absolute()):
        raise ValueError(f"{key} has {path!r}, which is neither absolute nor begins with ~")


# Whether runs are told to OpenTelemetry, and where. A folder's own file sets none of it.


class TelemetrySettings(Section):
    enable: bool = Field(
        default=False,
        description="Tell runs, nodes and model calls to OpenTelemetry; needs the extra "
        "`telemetry`.",
    )
    endpoint: str | None = Field(
        default=None,
        pattern=r"^https?://[^\s/]+",
        description="Collector that takes OTLP over HTTP; none = the providers that the program "
        "has set up itself.",
    )
    service_name: str = Field(
        default="secondlook", min_length=1, description="What this program is called there."
    )


APP_NAME = "secondlook"


def default_library_path() -> Path:
    return Path(platformdirs.user_data_dir(APP_NAME, appauthor=False)) / "library"


def default_runs_path() -> Path:
    return Path(platformdirs.user_data_dir(APP_NAME, appauthor=False)) / "runs.db"


class LibrarySettings(Section):
    path: Path = Field(
        default_factory=default_library_path,
        strict=False,
        description="Folder that holds the library, or `s3://BUCKET/PREFIX` where one was "
        "published, which is read only.",
    )
    language: Language = Field(
        default="english",
        description="Language whose stemming and stop words the lexical index uses.",
    )
    index: str = Field(
        default="embedded",
        pattern=r"^(embedded|milvus:https?://[^\s/@?#]+(/[A-Za-z_][A-Za-z0-9_]*)?/?)$",
        description="Where passages are held and searched: `embedded`, in the library's folder, or "
        "`milvus:http://HOST:PORT` with `/DATABASE` where it is not the default one.",
    )
    index_token_env: str = Field(
        default="MILVUS_TOKEN",
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*$",
        description="Name of the environment variable that holds USER:PASSWORD or a token for "
        "Milvus; never the secret itself.",
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
    max_table_mb: int = Field(
        default=65536, ge=1, description="The same for tables, which are never held whole."
    )
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
        default="auto",
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
    enable_quarantine: bool = Field(
        default=True,
        description="Keep passages that give a model orders out of prompts, in every workflow.",
    )
    enable_revalidation: bool = Field(
        default=True,
        description="Hold back sentences that repeat an order, a link or code of a document which "
        "the question did not call for.",
    )
    enable_abstention: bool = Field(
        default=True, description="Withhold an answer that the evidence does not carry."
    )
    enable_answer_grading: bool = Field(
        default=False,
        description="Have a model judge the finished answer, and once have it written more "
        "strictly where it says no.",
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
    money: float = Field(
        default=0.0, ge=0, allow_inf_nan=False, description="US dollars per question; 0 = no cap."
    )
    seconds: float = Field(
        default=0.0, ge=0, allow_inf_nan=False, description="Seconds per question; 0 = no cap."
    )


class RunSettings(Section):
    path: Path = Field(
        default_factory=default_runs_path,
        strict=False,
        description="File that holds the record of runs.",
    )
    store: Annotated[StoreAddress, AfterValidator(checked_address)] | None = Field(
        default=None,
        description="A PostgreSQL that holds it instead, for several machines: "
        "`postgresql://USER@HOST/DATABASE`.",
    )
    keep: int = Field(default=1000, ge=0, description="Runs that are kept; 0 = none is stored.")
    keep_days: int = Field(
        default=0, ge=0, description="Days that a run is kept; 0 = however old it is."
    )


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
    analyst: AnalystSettings = Field(default_factory=AnalystSettings)
    auto: AutoSettings = Field(default_factory=AutoSettings)
    sandbox: SandboxSettings = Field(default_factory=SandboxSettings)
    web: WebSettings = Field(default_factory=WebSettings)
    models: ModelSettings = Field(default_factory=ModelSettings)
    budget: BudgetSettings = Field(default_factory=BudgetSettings)
    runs: RunSettings = Field(default_factory=RunSettings)
    serve: ServeSettings = Field(default_factory=ServeSettings)
    telemetry: TelemetrySettings = Field(default_factory=TelemetrySettings)


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
    "analyst": AnalystSettings,
    "auto": AutoSettings,
    "sandbox": SandboxSettings,
    "web": WebSettings,
    "models": ModelSettings,
    "budget": BudgetSettings,
    "runs": RunSettings,
    "serve": ServeSettings,
    "telemetry": TelemetrySettings,
}


# Where runs are recorded by a server: an address that may hold a password, which nobody sees.

SCHEMES: Final = ("postgresql://", "postgres://")
_SHOWN = frozenset({"host", "hostaddr", "port", "dbname", "sslmode"})
"""Parameters that hold no secret."""


class StoreAddress(Secret[str]):
    """Written anywhere, also with the settings of a run, it is without its password."""

    def __bool__(self) -> bool:
        return bool(self.get_secret_value())

    def _display(self) -> str:
        return without_password(self.get_secret_value())


def checked_address(address: StoreAddress) -> StoreAddress:
    """The driver says what it cannot read in its errors: a password must not be part of that."""
    text = address.get_secret_value()
    if not text:
        return address
    scheme = next((one for one in SCHEMES if text.startswith(one)), None)
    if scheme is None:
        raise ValueError("Input should be postgresql://USER@HOST/DATABASE, or empty")
    place = text[len(scheme) :].split("?")[0].split("/")[0]
    if text.count("@") > ("@" in place):
        raise ValueError("Input should have %40, %2F and %3F for @, / and ? in a name or password")
    return address


def without_password(text: str) -> str:
    rest, mark, query = text.partition("?")
    scheme, separator, place = rest.partition("://")
    user, at, host = place.rpartition("@")
    shown = [(name, value) for name, value in parse_qsl(query) if name in _SHOWN]
    asked = f"{mark}{urlencode(shown, safe='/')}" if shown else ""
    return f"{scheme}{separator}{user.partition(':')[0]}{at}{host}{asked}"


# The languages a library can be in, as a setting names them.

LANGUAGES = frozenset(
    # Names and ISO 639-1 codes. A test holds them equal to what retrieval, which lies above the
    # settings and cannot be imported here, knows how to analyse.
    """
    none ar ca cs da de el en eo es et eu fa fi fr ga hi hu hy id it ja ko lt ne nl no pl pt ro ru
    sr sv ta th tr vi yi zh arabic armenian basque catalan chinese czech danish dutch english
    esperanto estonian finnish french german greek hindi hungarian indonesian irish italian japanese
    korean lithuanian nepali norwegian persian polish portuguese romanian russian serbian spanish
    swedish tamil thai turkish vietnamese yiddish
    """.split()  # noqa: SIM905  # eighty quoted words are harder to read
)


def known_language(language: str) -> str:
    """The language in lower case, or a ValueError that names the nearest known one."""
    asked = language.strip().lower()
    if asked not in LANGUAGES:
        meant = nearest(asked, sorted(LANGUAGES))
        like = f" (did you mean {meant!r}?)" if meant else ", such as 'german' or 'de'"
        raise ValueError(f"must be a known language{like}")
    return asked


Language = Annotated[str, AfterValidator(known_language)]
