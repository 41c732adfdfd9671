"""A configuration that loses nothing becomes a preset; nothing else does."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest

from secondlook import settings as module
from secondlook.errors import UsageError
from secondlook.evaluation.ablation import MARK, ablate, write_configuration, write_profile
from secondlook.evaluation.records import Configuration, Results, Summary
from secondlook.settings import load, preset_place
from secondlook.settings.sections import Settings
from tests.support.engine import settings_of
from tests.support.eval_rows import rows

if TYPE_CHECKING:
    from pathlib import Path

    from secondlook.evaluation.records import Ablation

FAST = Configuration(
    "fast", "adaptive", {"search.rerank": False, "answer.k": 3}, "search.rerank off"
)


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(module, "user_file", lambda: tmp_path / "config" / "config.toml")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "config" / "profiles"


@pytest.fixture
def ablation() -> Ablation:
    found = {
        "adaptive": rows([1.0] * 300),
        "fast": rows([0.995] * 300),
        "worse": rows([0.0] * 300),
        "undecided": rows([0.0] * 4 + [1.0] * 296),
    }
    return ablate(found, reference="adaptive")


def test_what_is_written_is_found_by_its_name_and_says_where_it_comes_from(
    own: Path, ablation: Ablation
) -> None:
    path = write_configuration(
        ablation, FAST, preset_place("mine"), measured_on="my questions", shared={"answer.k": 4}
    )
    assert path == own / "mine.toml"
    loaded = load(preset="mine", environ={})
    assert loaded.settings.answer.workflow == "adaptive"
    assert loaded.settings.search.rerank is False
    assert loaded.settings.answer.k == 3
    assert loaded.origin["answer.k"] == "preset mine"
    text = path.read_text(encoding="utf-8")
    assert text.startswith(MARK)
    assert (
        "# Not inferior to adaptive on my questions (300 questions, margin 0.02): f1 0.995 against "
        "1.000, difference -0.005, 95 % interval -0.005 to +0.007." in text
    ), text
    assert [file.name for file in own.iterdir()] == ["mine.toml"]


def test_a_path_works_too_and_what_was_written_may_be_written_again(
    own: Path, ablation: Ablation, tmp_path: Path
) -> None:
    path = preset_place("./fast.toml")
    write_configuration(ablation, FAST, path)
    write_configuration(ablation, Configuration("adaptive", "adaptive"), path, measured_on="it")
    assert "The reference of an ablation on it." in path.read_text("utf-8")
    assert load(preset="./fast.toml", cwd=tmp_path, environ={}).settings.search.rerank is True


@pytest.mark.parametrize("name", ["worse", "undecided"])
def test_what_loses_or_may_lose_is_refused(own: Path, ablation: Ablation, name: str) -> None:
    with pytest.raises(UsageError, match=f"'{name}' is {name}, so no profile") as failure:
        write_configuration(ablation, Configuration(name, "linear"), preset_place("mine"))
    wanted = "more questions" if name == "undecided" else "'adaptive'"
    assert wanted in (failure.value.hint or "")
    assert not own.exists()


def test_a_configuration_that_was_not_tried_is_refused(own: Path, ablation: Ablation) -> None:
    with pytest.raises(UsageError, match="no configuration 'other'"):
        write_configuration(ablation, Configuration("other", "linear"), preset_place("mine"))


def test_what_somebody_wrote_is_left_alone(own: Path, ablation: Ablation) -> None:
    own.mkdir(parents=True)
    mine = own / "mine.toml"
    mine.write_text("[search]\nk = 3\n", encoding="utf-8")
    with pytest.raises(UsageError, match="was not written by an ablation"):
        write_configuration(ablation, FAST, mine)
    assert mine.read_text("utf-8") == "[search]\nk = 3\n"
    with pytest.raises(UsageError, match="cannot be written"):
        write_configuration(ablation, FAST, own)


def test_a_folder_that_cannot_be_made(own: Path, ablation: Ablation, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match="cannot be written"):
        write_configuration(ablation, FAST, tmp_path / "file" / "mine.toml")


def test_the_web_is_switched_on_only_by_a_persons_own_presets(
    own: Path, ablation: Ablation, tmp_path: Path
) -> None:
    web = Configuration("fast", "adaptive", {"web.enable_web_search": True})
    with pytest.raises(UsageError, match="could not be used") as failure:
        write_configuration(ablation, web, tmp_path / "web.toml")
    assert str(own) in (failure.value.hint or "")
    assert list(tmp_path.glob("*.toml")) == []
    write_configuration(ablation, web, preset_place("web"))
    assert load(preset="web", environ={}).settings.web.enable_web_search is True


def test_every_kind_of_value_comes_through(own: Path, ablation: Ablation) -> None:
    values = {
        "web.url": None,
        "models.default": 'gguf:/a "b"\\c\x7f\n\u00e9\U0001f600.gguf',
        "search.dense": 1e-05,
        "search.k": 7,
        "search.rerank": True,
    }
    odd = Configuration("fast", "linear", values, "a\nb \x00 c")
    text = write_configuration(ablation, odd, preset_place("odd")).read_text("utf-8")
    found = tomllib.loads(text)
    assert found["search"] == {"k": 7, "dense": 1e-05, "rerank": True}
    assert found["models"] == {"default": values["models.default"]}
    assert "web" not in found
    assert "# fast: a b c\n" in text


def results_of(ablation: Ablation | None, settings: Settings) -> Results:
    return Results(
        data={"name": "my questions"},
        settings=settings.model_dump(mode="json", exclude={"library", "runs", "ingest"}),
        versions={"model": "none"},
        summaries={
            "adaptive": Summary(workflow="adaptive"),
            "fast": Summary(workflow="linear", changes={"search.rerank": False}),
        },
        ablation=ablation,
    )


def test_the_cheapest_is_written_with_what_all_were_given(own: Path) -> None:
    """Whether it was given on the command line or in a file: the profile stands alone."""
    found = {"adaptive": rows([1.0] * 300), "fast": rows([1.0] * 300, seconds=0.5)}
    ablation = ablate(found, reference="adaptive")
    given = settings_of(
        search={"candidates": 7}, answer={"workflow": "adaptive"}, models={"default": "gguf:x"}
    )
    path = write_profile(results_of(ablation, given), "mine")
    text = path.read_text("utf-8")
    assert tomllib.loads(text) == {
        "search": {"candidates": 7, "rerank": False},
        "answer": {"workflow": "linear"},
    }
    assert "on my questions with no model (300 questions" in text
    assert load(preset="mine", environ={}).settings.search.candidates == 7


def test_without_an_ablation_nothing_is_written(own: Path) -> None:
    with pytest.raises(UsageError, match="hold no ablation"):
        write_profile(results_of(None, Settings()), "mine")


def test_a_full_disk_is_told(
    own: Path, ablation: Ablation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Path, *args: object, **more: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(own), "write_text", full)
    with pytest.raises(UsageError, match="No space left"):
        write_configuration(ablation, FAST, own / "mine.toml")
    assert list(own.iterdir()) == []
