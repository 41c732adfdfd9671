from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.serving import client_of

if TYPE_CHECKING:
    from pathlib import Path


def test_ready_makes_the_library(tmp_path: Path) -> None:
    with client_of(tmp_path) as client:
        assert client.get("/api/ready").json() == {"ready": True, "libraries": ["default"]}
    assert (tmp_path / "library" / "library.json").is_file()


def test_not_ready_where_a_library_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "library.json").write_text("{", encoding="utf-8")
    with client_of(tmp_path) as client:
        answer = client.get("/api/ready")
    assert answer.status_code == 503
    assert answer.json()["code"] == "not_ready"
    assert answer.headers["content-type"] == "application/problem+json"
