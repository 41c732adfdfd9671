"""Models from a hub, over a mirror on loopback, and what a model file says of itself."""

import asyncio
import random
import re
import shutil
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from secondlook.errors import ModelError, ModelUnavailable, UsageError
from secondlook.models import hub
from secondlook.models.chat import ChatRequest, Message
from secondlook.models.gguf import GgufChat, UnusableModel, control_marks
from tests.support.mirror import CONTENT, Mirror, mirrored
from tests.support.model_desk import desk_in


@pytest.fixture
def mirror(monkeypatch: pytest.MonkeyPatch) -> Iterator[Mirror]:
    files = {"model-Q4_K_M.gguf": CONTENT, "model-Q8_0.gguf": CONTENT * 2, "README.md": b"#"}
    with mirrored(Mirror(files)) as one:
        monkeypatch.setenv("HF_ENDPOINT", one.address)
        yield one


def test_a_model_is_fetched_once_and_checked(mirror: Mirror, tmp_path: Path) -> None:
    file = hub.described("some/Model")
    assert (file.path, file.size) == ("model-Q4_K_M.gguf", len(CONTENT))
    path = hub.fetched(file, tmp_path)
    assert path.read_bytes() == CONTENT
    assert [one.name for one in tmp_path.iterdir()] == ["model-Q4_K_M.gguf"]
    asked = len(mirror.asked)
    assert hub.fetched(file, tmp_path) == path
    assert len(mirror.asked) == asked


def test_a_fetch_that_broke_off_goes_on(
    mirror: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "time.sleep", lambda _: None
    )  # the hub's client waits before it tries again
    file = hub.described("some/Model")
    mirror.left = 1_200_000
    with pytest.raises(ModelUnavailable, match="could not be fetched"):
        hub.fetched(file, tmp_path)
    assert not list(tmp_path.glob("*.gguf"))
    mirror.left = 1 << 40
    assert hub.fetched(file, tmp_path).read_bytes() == CONTENT
    assert re.fullmatch(r"bytes=[1-9]\d{5,}-", mirror.asked[-1])


def test_another_content_is_not_kept(mirror: Mirror, tmp_path: Path) -> None:
    mirror.promised = "0" * 64
    with pytest.raises(ModelError, match="not the file that the hub describes"):
        hub.fetched(hub.described("some/Model"), tmp_path)
    assert not list(tmp_path.rglob("*.gguf"))


@pytest.mark.parametrize(
    ("name", "error", "said"),
    [
        ("some/Other", ModelError, "the hub gives no some/Other"),
        ("some/Model/none.gguf", ModelError, "holds no none.gguf"),
        ("nonsense", UsageError, "no model that can be fetched"),
        ("some/Model/notes.txt", UsageError, "no model that can be fetched"),
    ],
)
def test_what_cannot_be_fetched(
    mirror: Mirror, name: str, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        hub.described(name)
    assert not mirror.asked


def test_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(ModelUnavailable, match="could not be fetched"):
        hub.described("qwen3-4b")


def test_a_full_disk_is_told_before(
    mirror: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: full)
    with pytest.raises(ModelError, match="left"):
        hub.fetched(hub.described("some/Model"), tmp_path)
    assert not mirror.asked


def test_fetched_by_a_command_and_found_by_doctor(
    mirror: Mirror,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    desk = desk_in(tmp_path, monkeypatch, capsys)
    found = desk.run("models", "get", "some/Model", "--json")
    assert found.code == 0, found.err
    spec = found.json["model"]
    assert spec.startswith("gguf:")
    assert "To ask with it" in found.err
    assert spec in desk.run("doctor").out
    assert desk.run("models", "get", "some/Other").code == 1


# What a model file says of itself, and what is said of one that is of no use.

_UINT32, _STRING, _ARRAY = 4, 8, 9


def gguf_bytes(entries: dict[str, Any]) -> bytes:
    """Whole numbers, texts, and lists of either."""
    head = b"GGUF" + struct.pack("<IQQ", 3, 0, len(entries))
    return head + b"".join(_text(key) + _typed(value) for key, value in entries.items())


def _text(value: str) -> bytes:
    data = value.encode("utf-8")
    return struct.pack("<Q", len(data)) + data


def _kind(value: Any) -> int:
    return _STRING if isinstance(value, str) else _UINT32


def _bare(value: Any) -> bytes:
    return _text(value) if isinstance(value, str) else struct.pack("<I", value)


def _typed(value: Any) -> bytes:
    if not isinstance(value, list):
        return struct.pack("<I", _kind(value)) + _bare(value)
    kind = _kind(value[0]) if value else _UINT32
    return struct.pack("<IIQ", _ARRAY, kind, len(value)) + b"".join(map(_bare, value))


LLAMA = {"general.architecture": "llama", "llama.context_length": 2048, "llama.block_count": 2}


def written(folder: Path, data: bytes) -> Path:
    path = folder / "model.gguf"
    path.write_bytes(data)
    return path


def test_control_marks_are_those_that_the_tokenizer_would_obey(tmp_path: Path) -> None:
    entries = {
        **LLAMA,
        "tokenizer.ggml.tokens": ["<unk>", "<|im_end|>", "hello", "<td>", "<|user|>", "\n"],
        "tokenizer.ggml.token_type": [2, 3, 1, 4, 4, 3],
    }
    assert control_marks(written(tmp_path, gguf_bytes(entries))) == ("<|im_end|>", "<|user|>")


def damaged_files() -> dict[str, bytes]:
    whole = gguf_bytes({**LLAMA, "tokenizer.ggml.token_type": [1, 2, 3]})
    head = b"GGUF" + struct.pack("<IQQ", 3, 0, 1)
    return {
        "a zip": b"PK\x03\x04" + bytes(100),
        "other byte order": b"GGUF" + struct.pack(">IQQ", 3, 0, 1),
        "cut in a list": whole[:-5],
        "endless entries": b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 60),
        "endless text": head + struct.pack("<Q1sIQ", 1, b"k", 8, 1 << 60),
        "unknown kind": head + struct.pack("<Q1sI", 1, b"k", 99),
    }


@pytest.mark.parametrize("kind", damaged_files())
def test_what_is_no_gguf_file_is_said_with_its_name(tmp_path: Path, kind: str) -> None:
    path = written(tmp_path, damaged_files()[kind])
    with pytest.raises(UnusableModel, match="is no usable GGUF file") as caught:
        control_marks(path)
    assert str(path) in caught.value.message
    assert caught.value.hint
    assert not caught.value.retryable


def test_random_damage_never_escapes_as_another_error(tmp_path: Path) -> None:
    entries: dict[str, Any] = {**LLAMA, "tokenizer.ggml.tokens": ["<s>", "b"], "x": [1, 2]}
    whole, dice = gguf_bytes(entries), random.Random(7)
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(dice.randint(1, 4)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        try:
            control_marks(written(tmp_path, bytes(data)))
        except UnusableModel:
            continue


@pytest.mark.parametrize(
    "data",
    [
        None,
        gguf_bytes({"general.architecture": "llama", "llama.context_length": 64}),
        gguf_bytes({"general.architecture": "abacus"}),
    ],
)
def test_bad_files_are_said_at_first_use(tmp_path: Path, data: bytes | None) -> None:
    path = tmp_path / "bad model.gguf"
    if data is not None:
        path.write_bytes(data)

    async def use() -> None:
        chat = GgufChat(path)
        try:
            await chat.complete(ChatRequest((Message("user", "Why?"),), max_tokens=1))
        finally:
            await chat.aclose()

    with pytest.raises(UnusableModel) as caught:
        asyncio.run(use())
    assert str(path) in caught.value.message
    assert caught.value.hint
    assert not caught.value.retryable
