"""Where settings come from, which place wins, what is said about a wrong one, and the presets."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from secondlook import settings as module
from secondlook.errors import SettingsError
from secondlook.models.specs import Cast
from secondlook.retrieval import terms as analyse
from secondlook.settings import KEYS, Loaded, load, presets
from secondlook.settings.sections import FIELDS, LANGUAGES, ModelSettings

DOCS = Path(__file__).parents[2] / "docs"
SETTINGS_PAGE = (DOCS / "settings.md").read_text("utf-8")
MODELS_PAGE = (DOCS / "models.md").read_text("utf-8")


class Places:
    """A home with a user file, and a project folder inside which a person works."""

    def __init__(self, root: Path) -> None:
        self.user = root / "config" / "config.toml"
        self.project = root / "work" / "secondlook.toml"
        self.cwd = root / "work" / "deep" / "er"
        self.user.parent.mkdir()
        self.cwd.mkdir(parents=True)

    def load(
        self, flags: Mapping[str, object] | None = None, environ: Mapping[str, str] | None = None
    ) -> Loaded:
        return load(flags, cwd=self.cwd, environ=environ or {})

    def error(
        self, flags: Mapping[str, object] | None = None, environ: Mapping[str, str] | None = None
    ) -> SettingsError:
        with pytest.raises(SettingsError) as caught:
            self.load(flags, environ)
        return caught.value


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    found = Places(tmp_path)
    monkeypatch.setattr(module, "user_file", lambda: found.user)
    return found


def test_each_place_overrides_the_one_before(places: Places) -> None:
    places.user.write_text("[search]\nk = 1\ndense = 0.1\nlooks = 11\nblend = 0.5\n")
    places.project.write_text("[search]\nk = 2\ndense = 0.2\nlooks = 22\n")
    loaded = places.load(
        {"search.k": 4}, {"SECONDLOOK_SEARCH_K": "3", "SECONDLOOK_SEARCH_DENSE": "0.3"}
    )
    search = loaded.settings.search
    assert (search.k, search.dense, search.looks, search.blend) == (4, 0.3, 22, 0.5)
    assert loaded.origin["search.k"] == "--k"
    assert loaded.origin["search.dense"] == "SECONDLOOK_SEARCH_DENSE"
    assert loaded.origin["search.looks"] == str(places.project)
    assert loaded.origin["search.blend"] == str(places.user)
    assert loaded.origin["search.rerank"] == "default"
    assert loaded.files == (places.user, places.project)
    assert loaded.value("search.k") == 4


def test_relative_paths_are_relative_to_their_place(places: Places) -> None:
    places.user.write_text('[library]\npath = "mine"\n')
    assert places.load().settings.library.path == places.user.parent / "mine"
    places.project.write_text('[library]\npath = "ours"\n')
    assert places.load().settings.library.path == places.project.parent / "ours"
    environ = {"SECONDLOOK_LIBRARY": "shell"}
    assert places.load(None, environ).settings.library.path == places.cwd / "shell"
    flags = {"library.path": Path("flag")}
    assert places.load(flags, environ).settings.library.path == places.cwd / "flag"


@pytest.mark.parametrize(
    ("name", "text", "key", "value"),
    [
        ("SECONDLOOK_SEARCH_RERANK", "false", "search.rerank", False),
        ("SECONDLOOK_BUDGET_SECONDS", "2", "budget.seconds", 2.0),
        ("SECONDLOOK_MODELS_SERVERS_GRADE", "llm-each", "models.servers.grade", "llm-each"),
        ("SECONDLOOK_INGEST_EXCLUDE", "*.log, drafts/", "ingest.exclude", ("*.log", "drafts/")),
    ],
)
def test_variables_are_read_by_type(
    places: Places, name: str, text: str, key: str, value: object
) -> None:
    assert places.load(None, {name: text}).value(key) == value


@pytest.mark.parametrize(
    ("text", "key", "nearest"),
    [
        ("[serch]\nk = 1", "serch", "search"),
        ("[search]\ndens = 0.5", "search.dens", "search.dense"),
        ("[search]\nworkers = 2", "search.workers", "ingest.workers"),
    ],
)
def test_unknown_key_names_file_key_and_nearest(
    places: Places, text: str, key: str, nearest: str
) -> None:
    places.project.write_text(text)
    error = places.error()
    assert str(places.project) in error.message
    assert repr(key) in error.message
    assert nearest in (error.hint or "")
    assert error.exit_code == 2


@pytest.mark.parametrize(
    ("text", "value", "allowed"),
    [
        ("[search]\nk = 0", "0", "greater than or equal to 1"),
        ('[search]\nk = "5"', "'5'", "search.k must be a whole number, not '5'"),
        ("[search]\nrerank = 1", "1", "must be true or false, not 1"),
        ("[search]\ndense = 'much'", "'much'", "must be a number, not 'much'"),
    ],
)
def test_wrong_value_names_place_value_and_what_is_allowed(
    places: Places, text: str, value: str, allowed: str
) -> None:
    places.user.write_text(text)
    error = places.error()
    assert str(places.user) in error.message
    assert value in error.message
    assert allowed in error.message


def test_the_documentation_lists_every_setting_as_it_is() -> None:
    rows = [
        line.strip("| ").split(" | ")
        for line in SETTINGS_PAGE.splitlines()
        if line.startswith("| `")
    ]
    documented = {row[0].strip("`"): (row[1], row[2]) for row in rows if "." in row[0]}
    del documented["config.toml` in your config folder"], documented[_PROJECT_ROW]
    assert list(documented) == list(KEYS)
    for key, (default, meaning) in documented.items():
        field = FIELDS[key]
        assert meaning == field.description, key
        if not key.endswith(".path"):
            assert default == _as_written(field.default), key


_PROJECT_ROW = "secondlook.toml`, the nearest one from the working folder upward"


def _as_written(value: object) -> str:
    if value is None:
        return "not set"
    if isinstance(value, str):
        return f'`"{value}"`'
    return f"`{'[]' if value == () else str(value).lower()}`"


def test_a_preset_beats_files_and_variables_and_yields_to_flags(tmp_path: Path) -> None:
    (tmp_path / "secondlook.toml").write_text("[search]\ndense = 0.5\nk = 3\n", encoding="utf-8")
    loaded = load(
        {"answer.k": 7}, preset="seed004", cwd=tmp_path, environ={"SECONDLOOK_SEARCH_BLEND": "0.5"}
    )
    search = loaded.settings.search
    assert (search.dense, search.lexical, search.blend, search.k) == (0.9, 0.1, 1.0, 3)
    assert loaded.settings.answer.workflow == "adaptive"
    assert loaded.settings.answer.k == 7
    assert loaded.origin["search.dense"] == "preset seed004"
    assert loaded.origin["search.k"].endswith("secondlook.toml")


def test_languages_are_those_that_can_be_analysed() -> None:
    assert {*analyse.LANGUAGES, *analyse.LANGUAGES.values()} == LANGUAGES


def test_languages_are_listed_in_the_documentation() -> None:
    paragraph = SETTINGS_PAGE[SETTINGS_PAGE.index("`library.language` is a name") :].split("\n\n")[
        0
    ]
    listed = set(re.findall(r"[a-z]+", paragraph.partition(":")[2]))
    assert listed >= set(analyse.LANGUAGES.values())


_SHAPE: dict[str, dict[str, Any]] = {
    "linear": {"answer.workflow": "linear", "search.candidates": 20, "answer.k": 5},
    "doc-grading": {"answer.workflow": "corrective", "models.servers.grade": "llm-batch"},
    "answer-grading": {"answer.workflow": "linear", "answer.enable_answer_grading": True},
    "rerank-control": {"adaptive.enable_adaptive_retrieval": False, "web.enable_web_search": False},
    "adaptive": {"adaptive.enable_adaptive_retrieval": True, "web.enable_web_search": False},
    "adaptive-web": {"adaptive.enable_adaptive_retrieval": True, "web.enable_web_search": True},
    "corrective": {"answer.workflow": "corrective", "corrective.graded": 10, "answer.k": 5},
    "general": {"answer.workflow": "research", "research.evaluator": "calibrated"},
    "law": {"answer.workflow": "research", "research.memory_similarity": 0.95},
    "seed-001": {"research.evaluator": "cosine", "research.calls": "separate"},
}
"""What a person chooses them for; the files say the rest."""


@pytest.mark.parametrize("name", _SHAPE)
def test_a_preset_comes_to_what_its_name_says(name: str) -> None:
    loaded = load(preset=name, environ={})
    assert {key: loaded.value(key) for key in _SHAPE[name]} == _SHAPE[name]
    assert loaded.origin["answer.workflow"] == f"preset {name}"


def test_an_unknown_preset_is_named() -> None:
    with pytest.raises(SettingsError, match="no preset 'seed005'") as failure:
        load(preset="seed005")
    assert "seed004" in (failure.value.hint or "")


def test_the_page_of_settings_lists_every_preset() -> None:
    assert all(load(preset=name).settings for name in presets())
    assert [name for name in presets() if f"| `{name}` |" not in SETTINGS_PAGE] == []


def test_the_profile_gives_every_role_its_model() -> None:
    blocks = re.findall(r"```toml\n(.*?)```", MODELS_PAGE, re.DOTALL)
    (block,) = [text for text in blocks if ".code=" in text]
    cast = Cast(ModelSettings(**tomllib.loads(block)["models"]))
    assert cast.part("code", "analyst").spec.text == "openai:gpt-5.1-codex"
    assert cast.part("understand", "analyst").spec.text == "openai:gpt-5-nano"
    assert cast.part("explain", "linear").spec.text == "openai:gpt-5.1"
