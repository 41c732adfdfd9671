"""Uploads made to do harm: each gets a clear answer, and nothing of it is left behind."""

from __future__ import annotations

import os
import random
import tempfile
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.library.uploads import MOST_BYTES
from tests.support import files
from tests.support import hostile_forms as forms
from tests.support.hostile import MUST_FAIL, hostile_files, valid_files
from tests.support.library_http import HARBOUR, LIBRARY, OWN, documents, ended, post, stored
from tests.support.serving import client_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fastapi.testclient import TestClient

SOAK = bool(os.environ.get("SECONDLOOK_SOAK"))
AT_ONCE = 50
NAMES = (
    "../../../climbed.txt",
    "..\\..\\climbed.txt",
    "/etc/climbed.txt",
    "C:\\climbed.txt",
    "..%2f..%2fclimbed.txt",
    "uploads/.incoming-x/names.json",
    "..",
    "",
    "~/.ssh/authorized_keys",
    "library.json",
    "NUL",
    "a.txt:stream",
    "A.TXT",
    "name\x00.txt",
    "name\u202etxt.exe",
    "x" * 4000 + ".txt",
    "e\u0301.txt",
    "\u00e9.txt",
    "a.zip!/inside.txt",
    "<script>alert(1)</script>.txt",
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Deep enough that what climbs out of it is still seen."""
    return tmp_path_factory.mktemp("fuzz").joinpath("a", "b", "c")


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where temporary files go, of the processes that read files too."""
    folder = tmp_path_factory.mktemp("scratch")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("TMPDIR", "TEMP", "TMP"):
            patch.setenv(name, str(folder))
        patch.setattr(tempfile, "tempdir", None)
        yield folder


@pytest.fixture(scope="module")
def running(place: Path, scratch: Path) -> Iterator[TestClient]:
    with client_of(place) as client:
        assert documents(client) == {}
        yield client


@pytest.fixture
def client(running: TestClient, place: Path, scratch: Path) -> Iterator[TestClient]:
    """Whatever a test sends: once its documents are deleted, nothing is there any more."""
    before = _around(place)
    yield running
    for job in running.get(f"{LIBRARY}/documents").json()["jobs"]:
        ended(running, job["id"])
    while listed := running.get(f"{LIBRARY}/documents").json()["documents"]:
        for item in listed:
            running.delete(f"{LIBRARY}/documents/{item['id']}")
    assert _around(place) == before
    assert stored(place) == []
    assert list(scratch.iterdir()) == []
    assert running.get("/api/ready").status_code == 200


def _around(place: Path) -> list[Path]:
    """Every file but those of the catalog, the index and the runs."""
    own = tuple(str(place / name) for name in ("runs.db", "library/g"))
    found = (path for path in place.parents[2].rglob("*") if path.is_file())
    return sorted(path for path in found if not str(path).startswith(own))


# What is in the files


def _chosen(secret: Path) -> list[tuple[str, bytes]]:
    """What uploads are most often abused with: bombs, paths inside archives, names that lie about
    the kind. In a soak every hostile file that there is."""
    if SOAK:
        return [(item.name, item.data) for item in hostile_files(secret)]
    packed = forms.archive_forms()
    valid = valid_files()
    archives = ["declared.zip", "lying.zip", "nested.zip", "layers.gz"]
    return [
        *((f"archive/bomb-{name}", packed[f"bomb-{name}"]) for name in archives),
        *((f"archive/{name}", packed[name]) for name in ("climbing.zip", "special.tar")),
        ("archive/encrypted.zip", packed["encrypted.zip"]),
        ("named/png.pdf", files.png()),
        ("named/elf.docx", b"\x7fELF\x02\x01\x01" + bytes(range(256))),
        ("named/pdf.txt", valid["pdf"]),
        ("named/docx.xlsx", valid["docx"]),
        ("noise/random.pdf", random.Random(1).randbytes(2000)),
        ("text/empty.txt", b""),
    ]


@pytest.mark.unmeasured
def test_bombs_and_disguises_end_with_a_reason(
    client: TestClient, place: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text(forms.CANARY, "utf-8")
    chosen = [(path.replace("/", "-"), data) for path, data in _chosen(secret)]
    must_fail = tuple(start.replace("/", "-") for start in MUST_FAIL)
    for at in range(0, len(chosen), AT_ONCE - 1):
        job = _taken(client, *chosen[at : at + AT_ONCE - 1], ("good.md", HARBOUR.encode()))
        assert (job["status"], job["error"]) == ("done", None)
        for file in job["files"]:
            assert file["status"] in {"ready", "unchanged", "failed"}, file
            assert file["status"] == "failed" or not file["name"].startswith(must_fail), file
            assert file["reason"] or file["status"] != "failed", file
            assert "0x" not in (file["reason"] or ""), file
        kept = {file["name"] for file in job["files"] if file["status"] != "failed"}
        assert "good.md" in kept
        assert set(stored(place)) >= kept
        assert set(stored(place)).isdisjoint({file["name"] for file in job["files"]} - kept)
    found = client.post(f"{LIBRARY}/search", json={"query": forms.CANARY, "k": 20})
    assert found.status_code == 200, found.text
    assert not any(forms.CANARY in hit["text"] for hit in found.json()["hits"])


def _taken(client: TestClient, *files: tuple[str, bytes]) -> dict[str, Any]:
    response = post(client, *files)
    assert response.status_code == 202, response.text
    return ended(client, response.json()["id"])


# What they are called


def test_no_name_leads_out_of_the_folder(client: TestClient, place: Path) -> None:
    head = '--cut\r\nContent-Disposition: form-data; name="files"; filename="{}"\r\n\r\n'
    parts = [f"{head.format(name)}{HARBOUR} Number {at}.\r\n" for at, name in enumerate(NAMES)]
    response = client.post(
        f"{LIBRARY}/documents",
        content="".join([*parts, "--cut--\r\n"]).encode(),
        headers=OWN | {"Content-Type": "multipart/form-data; boundary=cut"},
    )
    assert response.status_code == 202, response.text
    job = ended(client, response.json()["id"])
    assert job["status"] == "done"
    assert len(job["files"]) == len(NAMES)
    there = stored(place)
    assert set(there) == {file["name"] for file in job["files"] if file["status"] == "ready"}
    assert len({name.casefold() for name in there}) == len(there)
    for name in there:
        assert len(name.encode()) <= MOST_BYTES
        assert name.isprintable()
        assert not set(name) & set('/\\:*?"<>|')
