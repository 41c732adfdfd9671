from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.asking_http import QUESTION, events_of, library_at
from tests.support.serving import client_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fastapi.testclient import TestClient


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("asked")
    library_at(folder)
    with client_of(folder) as made:
        yield made


def ask(client: TestClient, **body: Any) -> Any:
    return client.post("/api/ask", json={"question": QUESTION, **body})


def test_an_answer_comes_whole(client: TestClient) -> None:
    reply = ask(client)
    assert reply.status_code == 200, reply.text
    answer = reply.json()
    assert answer["status"] == "answered"
    assert "7.8" in answer["short"]
    assert answer["citations"][0]["quote"]
