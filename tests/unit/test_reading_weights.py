from __future__ import annotations

import hashlib
import json
import sys
from typing import TYPE_CHECKING

import pytest

import secondlook_weights
from secondlook.errors import ModelError, ModelUnavailable
from secondlook.reading.weights import ModelName, find_weights, read_weights, verify_weights

if TYPE_CHECKING:
    from pathlib import Path

MANIFEST = {"name": "tiny", "dimensions": 4, "max_tokens": 8}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {"model.onnx": b"model", "tokenizer.json": b"tokenizer"}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    (tmp_path / "manifest.json").write_text(json.dumps({**MANIFEST, "files": hashes}))
    return tmp_path


def test_a_folder_is_described_by_its_manifest(folder: Path) -> None:
    weights = read_weights(folder)
    verify_weights(weights)
    assert (weights.dimensions, weights.max_tokens) == (4, 8)
    assert weights.identity == f"tiny@{hashlib.sha256(b'model').hexdigest()[:12]}"
    assert weights.tokenizer.read_bytes() == b"tokenizer"


@pytest.mark.parametrize(
    ("given", "languages"), [(None, ("english",)), (["german", "english"], ("german", "english"))]
)
def test_a_manifest_says_which_languages_it_was_trained_for(
    folder: Path, given: list[str] | None, languages: tuple[str, ...]
) -> None:
    described = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**described, "languages": given}))
    assert read_weights(folder).languages == languages


def test_languages_that_are_no_list_are_a_broken_manifest(folder: Path) -> None:
    described = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**described, "languages": "german"}))
    with pytest.raises(ModelUnavailable, match="languages is 'german'"):
        read_weights(folder)


@pytest.fixture
def parted(folder: Path) -> Path:
    (folder / "model.onnx").unlink()
    files = {"look.onnx": b"look", "glance.onnx": b"glance", "tokenizer.json": b"tokenizer"}
    for name, content in files.items():
        (folder / name).write_bytes(content)
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    (folder / "manifest.json").write_text(json.dumps({**MANIFEST, "files": hashes}))
    return folder


def test_a_reader_in_two_parts_is_named_by_both(parted: Path) -> None:
    weights = read_weights(parted)
    verify_weights(weights)
    assert weights.parted
    assert weights.glance.read_bytes() == b"glance"
    assert weights.look.read_bytes() == b"look"
    both = "".join(hashlib.sha256(part).hexdigest() for part in (b"glance", b"look"))
    assert weights.identity == f"tiny@{hashlib.sha256(both.encode()).hexdigest()[:12]}"


def test_half_a_reader_is_none(parted: Path) -> None:
    manifest = json.loads((parted / "manifest.json").read_text())
    del manifest["files"]["look.onnx"]
    (parted / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ModelUnavailable, match="no usable manifest"):
        read_weights(parted)


def test_changed_bytes_are_found_by_verification(folder: Path) -> None:
    (folder / "model.onnx").write_bytes(b"other")
    with pytest.raises(ModelError, match=r"model\.onnx of 'tiny'"):
        verify_weights(read_weights(folder))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"name": "x", "dimensions": "many"}',
        '{"name": "x", "dimensions": 1, "max_tokens": 1, "files": 3}',
    ],
)
def test_a_broken_manifest_says_how_to_reinstall(folder: Path, text: str) -> None:
    (folder / "manifest.json").write_text(text)
    with pytest.raises(ModelUnavailable, match="no usable manifest") as raised:
        read_weights(folder)
    assert "secondlook-qa-weights" in (raised.value.hint or "")


def test_a_missing_file_is_named(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ModelUnavailable, match=r"lacks tokenizer\.json"):
        read_weights(folder)


def test_without_the_distribution_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "secondlook_weights", None)
    with pytest.raises(ModelUnavailable) as raised:
        find_weights("embedder")
    assert (
        raised.value.hint
        == "install the distribution secondlook-qa-weights: pip install ./weights in a clone"
    )
    assert raised.value.retryable


@pytest.mark.parametrize("model", secondlook_weights.MODELS)
def test_the_distributed_files_are_the_ones_their_manifests_name(model: ModelName) -> None:
    verify_weights(find_weights(model))
    assert (secondlook_weights.path(model) / "card.md").read_text("utf-8").strip()


def test_the_distribution_stays_small() -> None:
    root = secondlook_weights.path("embedder").parent
    assert sum(file.stat().st_size for file in root.rglob("*") if file.is_file()) < 95_000_000


def test_an_unknown_model_is_refused() -> None:
    with pytest.raises(ValueError, match="no model called 'other'"):
        secondlook_weights.path("other")  # type: ignore[arg-type]
