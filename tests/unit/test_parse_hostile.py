"""Files made to hurt: depth, bombs, lies and damage. Nothing but a reason may come of them."""

import gzip
import io
from pathlib import Path
from typing import Any

import pytest

from secondlook.errors import Damaged, Encrypted, LimitExceeded, NoText
from secondlook.processes import receive
from secondlook.retrieval.parse import source as source_module
from secondlook.retrieval.parse import worker
from secondlook.retrieval.parse.extract import extract, extract_bytes
from secondlook.retrieval.parse.source import Parsed, ParseLimits
from secondlook.retrieval.parse.worker import serve
from tests.support import files
from tests.support.hostile_forms import zeros_zip

DEEP = 10_000


def test_deep_html_is_read() -> None:
    page = (
        "<html><body>"
        + "<div>" * DEEP
        + "the bottom"
        + "</div>" * DEEP
        + "<p>after</p></body></html>"
    )
    parsed = extract_bytes(page.encode(), "a.html")[0]
    assert parsed.extracted is not None
    assert parsed.extracted.text == "the bottom\n\nafter"


def test_millions_of_empty_tags_are_refused() -> None:
    data = files.odf("<office:text>" + "<text:p/>" * 5_000_001 + "</office:text>")
    error = extract_bytes(data, "a.odt")[0].error
    assert isinstance(error, LimitExceeded)
    assert "tags" in str(error)


def test_files_beyond_memory_are_streamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_module, "IN_MEMORY_BYTES", 10)
    path = tmp_path / "a.pdf"
    path.write_bytes(files.pdf([["Streamed from disk."]]))
    parsed = extract(path)[0]
    assert parsed.extracted is not None
    assert parsed.extracted.text == "Streamed from disk."
    note = tmp_path / "a.txt"
    note.write_text("also streamed")
    assert extract(note)[0].extracted is not None
    archive = tmp_path / "a.zip"
    archive.write_bytes(files.zipped({"x.txt": "in zip"}))
    assert extract(archive)[0].member == "x.txt"


def texts(parsed: list[Parsed]) -> dict[str, str]:
    return {item.member: item.extracted.text for item in parsed if item.extracted}


def test_zip_members_are_documents() -> None:
    inner = files.zipped({"deep.md": "# Deep"})
    data = files.zipped(
        {
            "a.txt": "one", "dir/b.html": "<html><body>two</body></html>", "dir/inner.zip": inner,
            "__MACOSX/a.txt": "x", ".hidden": "x", "dir/.git/config": "x", "movie.mp4": b"x",
            "../../up.txt": "harmless", "dir/": "", "C:\\win\\c.txt": "windows",
        }
    )  # fmt: skip
    assert texts(extract_bytes(data, "a.zip")) == {
        "a.txt": "one",
        "dir/b.html": "two",
        "dir/inner.zip/deep.md": "# Deep",
        "up.txt": "harmless",
        "win/c.txt": "windows",
    }


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_tar_members_are_documents(mode: str) -> None:
    data = files.tarred({"x/y.txt": b"words", "x/.hidden.txt": b"no", "x/y2.md": b"# M"}, mode=mode)
    assert texts(extract_bytes(data, "a.tar")) == {"x/y.txt": "words", "x/y2.md": "# M"}


def test_a_bad_member_costs_that_member() -> None:
    data = bytearray(
        files.zipped({"good.txt": "fine", "locked.txt": "secret", "bad.pdf": "%PDF-1.4 x"})
    )
    directory = data.index(b"PK\x01\x02", data.index(b"PK\x01\x02") + 1)
    data[directory + 8] |= 1  # the flag that says: encrypted
    data[data.index(b"PK\x03\x04", 10) + 6] |= 1
    parsed = {item.member: item for item in extract_bytes(bytes(data), "a.zip")}
    assert parsed["good.txt"].extracted is not None
    assert isinstance(parsed["locked.txt"].error, Encrypted)
    assert isinstance(parsed["bad.pdf"].error, Damaged)


def test_bombs_are_refused_before_they_are_opened() -> None:
    limits = ParseLimits(expanded_bytes=10 << 20)
    bomb = zeros_zip(32)
    assert len(bomb) < 1 << 20
    parsed = extract_bytes(bomb, "bomb.zip", limits)
    assert isinstance(parsed[0].error, LimitExceeded)
    assert "unpacked" in str(parsed[0].error)
    office = files.docx("<w:p/>", extra={"word/media/big.bin": "0" * (11 << 20)})
    assert isinstance(extract_bytes(office, "a.docx", limits)[0].error, LimitExceeded)
    squeezed = gzip.compress(bytes(32 << 20))
    assert isinstance(extract_bytes(squeezed, "a.gz", limits)[0].error, LimitExceeded)
    tar = files.tarred({"a.txt": b"a", "z.txt": bytes(32 << 20)}, mode="w:gz")
    parsed = extract_bytes(tar, "a.tgz", limits)
    assert isinstance(parsed[0].error, LimitExceeded)
    assert texts(parsed) == {"a.txt": "a"}


def test_members_and_depth_are_limited() -> None:
    many = files.zipped({f"{number}.txt": f"n {number}" for number in range(30)})
    parsed = extract_bytes(many, "a.zip", ParseLimits(members=20))
    assert isinstance(parsed[0].error, LimitExceeded)
    assert len(parsed) == 21
    nested = b"core"
    for _ in range(12):
        nested = files.zipped({"inner.zip" if nested != b"core" else "core.txt": nested})
    parsed = extract_bytes(nested, "a.zip")
    assert len(parsed) == 1
    assert isinstance(parsed[0].error, LimitExceeded)
    assert "nested" in str(parsed[0].error)


def test_empty_and_truncated_archives() -> None:
    assert isinstance(extract_bytes(files.zipped({}), "a.zip")[0].error, NoText)
    whole = files.tarred({"a.txt": b"x" * 2000, "b.txt": b"y" * 30_000})
    parsed = {item.member: item for item in extract_bytes(whole[:9000], "a.tar")}
    assert parsed["a.txt"].extracted is not None
    assert any(isinstance(item.error, Damaged) for item in parsed.values())
    squeezed = gzip.compress(b"words " * 1000)
    assert isinstance(extract_bytes(squeezed[:-20], "a.gz")[0].error, Damaged)
    assert isinstance(extract_bytes(squeezed[:12], "a.gz")[0].error, Damaged)


def conversation(jobs: list[str], limits: ParseLimits) -> list[dict[str, Any]]:
    waiting = iter([*({"path": job} for job in jobs), {}])
    outbox = io.BytesIO()
    serve(lambda: next(waiting), outbox, limits)
    outbox.seek(0)
    messages: list[dict[str, Any]] = []
    while outbox.tell() < len(outbox.getvalue()):
        messages.append(receive(outbox))
    return messages


def test_whatever_a_parser_raises_is_an_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    def leave(*_arguments: object, **_options: object) -> None:
        raise SystemExit(3)

    monkeypatch.setattr(worker, "extract", leave)
    (outcome,) = filter(None, conversation(["x"], ParseLimits()))
    assert "SystemExit" in outcome["parsed"][0]["error"][1]


def test_a_file_that_changes_while_it_is_read_is_not_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_module, "IN_MEMORY_BYTES", 10)
    path = tmp_path / "log.txt"
    path.write_text("first words of a log")

    def change() -> None:
        path.write_text("quite other words, and more of them")

    (parsed,) = extract(path, beat=change)
    assert parsed.extracted is None
    assert "changed while it was being read" in str(parsed.error)
