"""What can be set, section by section, each with a description that errors and docs show."""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Self
from urllib.parse import parse_qsl, urlencode, urlsplit

import platformdirs
from pydantic import AfterValidator, Field, Secret, model_validator

from secondlook.settings.addresses import plain, without_password
from secondlook.settings.workflows import (
    AdaptiveSettings,
    AnalystSettings,
    AutoSettings,
    CorrectiveSettings,
    ResearchSettings,
    SandboxSettings,
    Section,
    Servers,
    setting,
    words,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic.fields import FieldInfo

APP_NAME = "secondlook"
DEFAULT_LIBRARY = "default"  # the library that the server was started with
LIBRARY_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_ORIGIN = re.compile(r"https?://[^\s/]+")
_URL = r"^https?://[^\s/]+"
_LONGEST_OPTION = 16


class ServeSettings(Section):
    host: str = setting(
        "127.0.0.1",
        "Address to listen on; any but this machine's own needs SECONDLOOK_TOKEN.",
        min_length=1,
    )
    port: int = setting(8765, "Port to listen on; 0 = a free one.", ge=0, le=65535)
    libraries: tuple[str, ...] = words("Further libraries, `name=path`; absolute paths, or with ~.")
    roots: tuple[str, ...] = words("Folders whose files a client may add by path; none = uploads.")
    origins: tuple[str, ...] = words("Further addresses of it, such as `https://papers.example`.")
    concurrency: int = setting(0, "Questions worked on at once; 0 = one per core.", ge=0)
    max_upload_mb: int = setting(200, "Most megabytes of one upload.", ge=1, le=100_000)
    metrics: bool = setting(False, "Serve /metrics for Prometheus (extra `telemetry`).")

    @model_validator(mode="after")
    def _are_of_the_right_form(self) -> Self:
        for given in self.libraries:
            name, equals, path = given.partition("=")
            if not equals or not LIBRARY_NAME.fullmatch(name) or name == DEFAULT_LIBRARY:
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
        pairs = (given.partition("=") for given in self.libraries)
        return {name: Path(path).expanduser() for name, _, path in pairs}

    @property
    def root_paths(self) -> tuple[Path, ...]:
        return tuple(Path(given).expanduser() for given in self.roots)

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(name for given in self.origins if (name := urlsplit(given).hostname))


def _absolute(key: str, path: str) -> None:
    # A server's working folder is an accident: nothing may depend on it.
    if not (path.startswith(("~", "s3://")) or Path(path).is_absolute()):
        raise ValueError(f"{key} has {path!r}, which is neither absolute nor begins with ~")


class TelemetrySettings(Section):
    endpoint: Annotated[str | None, AfterValidator(without_password)] = setting(
        None,
        "OTLP collector (HTTP), or `program` = OpenTelemetry as the program set it up.",
        pattern=rf"{_URL}|^program$",
    )


# The languages a library can be in. Names and ISO 639-1 codes; a test holds them equal to what
# retrieval, which imports the settings, knows how to analyse.

LANGUAGES = frozenset(
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


def default_library_path() -> Path:
    return Path(platformdirs.user_data_dir(APP_NAME, appauthor=False)) / "library"


def default_runs_path() -> Path:
    return Path(platformdirs.user_data_dir(APP_NAME, appauthor=False)) / "runs.db"


class LibrarySettings(Section):
    path: Path = Field(
        default_factory=default_library_path,
        strict=False,
        description="Folder of the library, or `s3://BUCKET/PREFIX` of a published one, to read.",
    )
    language: Language = setting("english", "Language whose stemming the lexical index uses.")
    index: str = setting(
        "embedded",
        "`embedded`, or `milvus:http://HOST:PORT[/DATABASE]` (MILVUS_TOKEN holds the token).",
        pattern=r"^(embedded|milvus:https?://[^\s/@?#]+(/[A-Za-z_][A-Za-z0-9_]*)?/?)$",
    )


class EmbeddingSettings(Section):
    model: Annotated[str, AfterValidator(plain)] = setting(
        "embedded", "Embedder; `embedded` is the one shipped.", min_length=1
    )
    base_url: Annotated[str | None, AfterValidator(plain)] = setting(
        None, "Embedding service (key: OPENAI_API_KEY).", pattern=_URL
    )
    threads: int = setting(0, "Threads of local models; 0 = all cores.", ge=0)


class ReaderSettings(Section):
    model: str = setting(
        "embedded",
        "`embedded`, or a cross-encoder `sentence-transformers:NAME_OR_PATH` for relevance.",
        min_length=1,
    )


class ChunkingSettings(Section):
    tokens: int = setting(200, "Length of a passage, in tokens.", ge=16, le=8192)
    overlap: int = setting(25, "Tokens that neighbouring passages share.", ge=0, le=4096)

    @model_validator(mode="after")
    def _overlap_is_a_part(self) -> Self:
        if self.overlap * 2 > self.tokens:
            raise ValueError("chunking.overlap must be at most half of chunking.tokens")
        return self


class IngestSettings(Section):
    workers: int = setting(0, "Parser processes; 0 = automatic.", ge=0, le=256)
    exclude: tuple[str, ...] = words("Files to leave out, as in .gitignore.")
    ocr: str = setting(
        "auto",
        "Scanned pages: `auto`, `off`, or languages of tesseract such as `deu+eng`.",
        pattern=r"^(auto|off|[a-z]{3}(_[A-Za-z]+)*(\+[a-z]{3}(_[A-Za-z]+)*)*)$",
    )
    max_file_mb: int = setting(1024, "Larger files are left out, but for tables.", ge=1)


class SearchSettings(Section):
    k: int = setting(10, "Passages to return.", ge=1, le=1000)
    dense: float = setting(0.7, "Weight of the search by meaning; words have the rest.", ge=0, le=1)
    candidates: int = setting(16, "Passages that the reader scores quickly.", ge=1, le=1000)
    looks: int = setting(6, "Passages that the reader reads closely.", ge=1, le=1000)
    rerank: bool = setting(True, "Rerank the candidates with the reader.")
    blend: float = setting(0.8, "Share of the reranker in the order; 0 = fusion alone.", ge=0, le=1)

    @property
    def lexical(self) -> float:
        return round(1 - self.dense, 6)


class AnswerSettings(Section):
    workflow: str = setting(
        "auto", "Workflow that answers (`secondlook graph`).", pattern=r"^[a-z_]+$"
    )
    k: int = setting(5, "Most passages behind an answer.", ge=1, le=100)
    evidence_tokens: int = setting(0, "Most tokens of evidence for a model; 0 = what fits.", ge=0)
    max_risk: float | None = setting(None, "Largest share of wrong answers allowed.", gt=0, lt=1)
    enable_sentence_check: bool = setting(True, "Check each sentence against what it cites.")
    enable_grounded_check: bool = setting(
        True, "Check the whole answer against its evidence (`corrective`, `research`)."
    )
    enable_quarantine: bool = setting(True, "Keep passages that give orders out of prompts.")
    trusted: tuple[str, ...] = words("Ids of documents that are read although they give orders.")
    enable_revalidation: bool = setting(
        True,
        "Hold back sentences that repeat an order, a link or code of a document which the question "
        "did not call for.",
    )
    enable_abstention: bool = setting(True, "Withhold answers that the evidence does not support.")
    enable_answer_grading: bool = setting(
        False, "Have a model judge the finished answer; on no, write it once more, strictly."
    )


class WebSettings(Section):
    enable_web_search: bool = setting(False, "Search the web where the library has too little.")
    url: Annotated[str | None, AfterValidator(without_password)] = setting(
        None, "SearXNG server; not set = DuckDuckGo.", pattern=_URL
    )
    min_quality: float = setting(
        -1.0, "Search it below this quality; -1 = calibrated.", ge=-1, le=1
    )
    allow_private: bool = setting(False, "Also read pages on private addresses.")


def without_keys(lines: tuple[str, ...]) -> tuple[str, ...]:
    """No option has a long value: that would be a key, which belongs on no screen."""
    if any(len(line.partition("=")[2].strip()) > _LONGEST_OPTION for line in lines):
        raise ValueError("Input should have a number or a mode behind each =, no key")
    return lines


class ModelSettings(Section):
    default: Annotated[str, AfterValidator(plain)] = setting(
        "none", "Model for every role, `provider:model`, or `none`.", min_length=1
    )
    roles: Annotated[tuple[str, ...], AfterValidator(plain)] = words(
        "Models of single roles: `[workflow.]role=provider:model`."
    )
    options: Annotated[tuple[str, ...], AfterValidator(without_keys)] = words(
        "Options, such as `answer.temperature=0.3`, `all.timeout=60`."
    )
    servers: Servers = setting(Servers(), "Which of its servers does the work of a role.")
    prices: Path | None = setting(None, "TOML file of prices that override ours.", strict=False)

    def for_all(self, option: str) -> str | None:
        """An option of all roles, as written: `all.OPTION=VALUE`."""
        lines = [line.partition("=") for line in self.options]
        return next((text for name, _, text in lines if name.strip() == f"all.{option}"), None)


class BudgetSettings(Section):
    calls: int = setting(0, "Most model calls per question; 0 = no cap.", ge=0)
    tokens: int = setting(0, "Most tokens per question; 0 = no cap.", ge=0)
    money: float = setting(0.0, "Most dollars per question; 0 = no cap.", ge=0, allow_inf_nan=False)
    seconds: float = setting(0.0, "Most seconds a question; 0 = no cap.", ge=0, allow_inf_nan=False)


# Where runs are recorded by a server: an address that may hold a password, which nobody sees.

SCHEMES: Final = ("postgresql://", "postgres://")
_SHOWN = frozenset({"host", "hostaddr", "port", "dbname", "sslmode"})  # no secrets


class StoreAddress(Secret[str]):
    """Written anywhere, also with the settings of a run, it is without its password."""

    def __bool__(self) -> bool:
        return bool(self.get_secret_value())

    def _display(self) -> str:
        rest, mark, query = self.get_secret_value().partition("?")
        scheme, separator, place = rest.partition("://")
        user, at, host = place.rpartition("@")
        shown = [(name, value) for name, value in parse_qsl(query) if name in _SHOWN]
        asked = f"{mark}{urlencode(shown, safe='/')}" if shown else ""
        return f"{scheme}{separator}{user.partition(':')[0]}{at}{host}{asked}"


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


class RunSettings(Section):
    path: Path = Field(
        default_factory=default_runs_path, strict=False, description="File of the record of runs."
    )
    store: Annotated[StoreAddress, AfterValidator(checked_address)] | None = setting(
        None, "PostgreSQL for the record instead: `postgresql://USER@HOST/DATABASE`."
    )
    keep: int = setting(1000, "Runs to keep; 0 = record none.", ge=0)
    keep_days: int = setting(0, "Days to keep a run; 0 = any age.", ge=0)


class Settings(Section):
    library: LibrarySettings = Field(default_factory=LibrarySettings)
    embedding: EmbeddingSettings = EmbeddingSettings()
    reader: ReaderSettings = ReaderSettings()
    chunking: ChunkingSettings = ChunkingSettings()
    ingest: IngestSettings = IngestSettings()
    search: SearchSettings = SearchSettings()
    answer: AnswerSettings = AnswerSettings()
    adaptive: AdaptiveSettings = AdaptiveSettings()
    corrective: CorrectiveSettings = CorrectiveSettings()
    research: ResearchSettings = ResearchSettings()
    analyst: AnalystSettings = AnalystSettings()
    auto: AutoSettings = AutoSettings()
    sandbox: SandboxSettings = SandboxSettings()
    web: WebSettings = WebSettings()
    models: ModelSettings = ModelSettings()
    budget: BudgetSettings = BudgetSettings()
    runs: RunSettings = Field(default_factory=RunSettings)
    serve: ServeSettings = ServeSettings()
    telemetry: TelemetrySettings = TelemetrySettings()


SECTIONS: dict[str, type[Section]] = {
    name: field.annotation  # type: ignore[misc]
    for name, field in Settings.model_fields.items()
}


def _fields(path: str, section: type[Section]) -> dict[str, FieldInfo]:
    found: dict[str, FieldInfo] = {}
    for name, field in section.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, Section):
            found |= _fields(f"{path}{name}.", inner)
        else:
            found[path + name] = field
    return found


FIELDS: dict[str, FieldInfo] = _fields("", Settings)  # by dotted key, also those of a map


def value_of(settings: Settings, key: str) -> object:
    value: object = settings
    for name in key.split("."):
        value = getattr(value, name)
    return value


# What a person is told about a mistyped name or a wrong value, and where something is.

_ALIKE = 0.6  # names less alike than that were not meant: naming one would mislead

_PLAIN_WORDS = {
    "Value error, ": "",
    "Input should": "must",
    "String should": "must",
    "a valid integer": "a whole number",
    "a valid number": "a number",
    "a valid boolean": "true or false",
    "a valid string": "text",
    "a valid tuple": "a list",
}
_TECHNICAL = re.compile("|".join(map(re.escape, _PLAIN_WORDS)))
_HOW_IT_FAILED = re.compile(r", (?:unable|got) .*")


def in_plain_words(message: str) -> str:
    """`Input should be a valid integer, unable to parse ...` as `must be a whole number`."""
    return _TECHNICAL.sub(lambda found: _PLAIN_WORDS[found[0]], _HOW_IT_FAILED.sub("", message))


def nearest(name: str, known: Iterable[str]) -> str | None:
    found = difflib.get_close_matches(name, list(known), n=1, cutoff=_ALIKE)
    return found[0] if found else None


def where_to_look(meant: str | None) -> str:
    # Not `secondlook config`: it stops at the same mistake.
    listed = "docs/settings.md lists all settings."
    return f"Did you mean {meant}? {listed}" if meant else listed


def place_of(path: Path) -> str:
    """A folder or file, or an address in object storage, of which a `Path` makes `s3:/...`."""
    told = str(path)
    return f"s3://{told.removeprefix('s3:/')}" if told.startswith("s3:/") else told
