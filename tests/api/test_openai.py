"""The official `openai` client against a real server: what its users see."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from secondlook.answer import Analysis, Answer, Citation, Claim, ResultTable
from secondlook.graphs.registry import WORKFLOWS
from secondlook.server.openai import written
from tests.support.protocols import ScriptedEngine, answer_of, harbour, libraries_of
from tests.support.serving import Serving, served, settings_at

DEPTH = "how deep is berth 4"
BASE, RUN = "http://localhost:8765/", "20260102-abc"
PAGE = f"{BASE}#/runs/{RUN}"
NO_TOKEN, TOKEN = "none", "a-secret-token"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with served(harbour(tmp_path_factory.mktemp("openai"))) as serving:
        yield serving


@pytest.fixture
def client(server: Serving) -> Iterator[openai.OpenAI]:
    with client_at(server) as made:
        yield made


def client_at(server: Serving, token: str = NO_TOKEN) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{server.base_url}/v1", api_key=token, max_retries=0)


def user(*texts: str) -> list[Any]:
    """Questions and replies in turn, the first a question."""
    roles = ("user", "assistant")
    return [{"role": roles[at % 2], "content": text} for at, text in enumerate(texts)]


def refusal(client: openai.OpenAI, **given: Any) -> openai.APIStatusError:
    asked: dict[str, Any] = {"model": "secondlook", "messages": user(DEPTH), **given}
    with pytest.raises(openai.APIStatusError) as caught:
        client.chat.completions.create(**asked)
    assert set(caught.value.body) == {"message", "type", "param", "code"}  # type: ignore[call-overload]
    return caught.value


def test_every_workflow_is_a_model(client: openai.OpenAI) -> None:
    names = [model.id for model in client.models.list()]
    assert names == ["secondlook", *(f"secondlook-{name}" for name in WORKFLOWS)]
    assert client.models.retrieve("secondlook-linear").owned_by == "secondlook"
    with pytest.raises(openai.NotFoundError) as caught:
        client.models.retrieve("secondlook-nothing")
    assert caught.value.code == "model_not_found"


def test_an_answer_links_to_its_evidence(server: Serving, client: openai.OpenAI) -> None:
    done = client.chat.completions.create(model="secondlook-linear", messages=user(DEPTH))
    message = done.choices[0].message
    assert done.choices[0].finish_reason == "stop"
    assert message.content is not None
    assert "7.8 metres" in message.content
    run = done.secondlook["run"]  # type: ignore[attr-defined]
    url = f"{server.base_url}/#/runs/{run}/citations/1"
    assert message.annotations
    for annotation in message.annotations:
        cited = annotation.url_citation
        assert cited.url == url
        assert cited.title == "Halvermouth Harbour Survey 2024"
        assert message.content[cited.start_index : cited.end_index] == f"[[1]]({url})"
    held = httpx.get(f"{server.base_url}/api/runs/{run}").json()
    assert held["answer"]["citations"][0]["title"] == "Halvermouth Harbour Survey 2024"
    assert (done.usage.prompt_tokens, done.usage.total_tokens) == (0, 0)  # type: ignore[union-attr]


def test_a_stream_is_the_same_answer_in_pieces(client: openai.OpenAI) -> None:
    whole = client.chat.completions.create(model="secondlook-linear", messages=user(DEPTH))
    chunks = list(
        client.chat.completions.create(
            model="secondlook-linear",
            messages=user(DEPTH),
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    assert chunks[0].choices[0].delta.role == "assistant"
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert _without_run(text) == _without_run(whole.choices[0].message.content or "")
    assert len(chunks) > 10
    assert chunks[-1].usage is not None
    assert chunks[-1].choices == []
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert all(chunk.choices[0].finish_reason is None for chunk in chunks[:-2])
    assert len({chunk.id for chunk in chunks}) == 1


def _without_run(text: str) -> str:
    start = text.index("/#/runs/") + len("/#/runs/")
    return text.replace(text[start : start + 21], "RUN")


def test_a_follow_up_leans_on_the_answer_before_it(client: openai.OpenAI) -> None:
    first = client.chat.completions.create(model="secondlook-linear", messages=user(DEPTH))
    done = client.chat.completions.create(
        model="secondlook-linear",
        messages=user(DEPTH, first.choices[0].message.content or "", "what about berth 2"),
        extra_body={"secondlook": {"answer": True}},
    )
    asked = done.secondlook["answer"]["asked"]  # type: ignore[attr-defined]
    assert asked.casefold().rstrip("?") == "how deep is berth 2"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"model": "gpt-4o"}, (404, "model", "model_not_found")),
        ({"messages": user("a", "b")}, (400, "messages", "no_question")),
        ({"messages": user("  ")}, (400, "messages[0].content", "no_question")),
        (
            {"messages": [{"role": "user", "content": 7}]},
            (400, "messages[0].content", "invalid_request"),
        ),
        ({"tool_choice": {"type": "function"}}, (400, "tool_choice", "unsupported_value")),
        ({"messages": user("x" * 4001)}, (400, None, "usage_error")),
        ({"extra_body": {"secondlook": {"library": "other"}}}, (404, None, "library_missing")),
    ],
)
def test_mistakes_are_told_in_their_form(
    client: openai.OpenAI, given: Any, told: tuple[int, str | None, str], stream: bool
) -> None:
    error = refusal(client, **given, stream=stream)
    assert (error.status_code, error.param, error.code) == told
    assert error.type == "invalid_request_error"


def test_the_door_speaks_their_form_below_v1(tmp_path: Path) -> None:
    with served(tmp_path, token=TOKEN) as server:
        with client_at(server, "wrong") as client, pytest.raises(openai.AuthenticationError) as no:
            client.models.list()
        assert no.value.code == "token_needed"
        assert no.value.response.headers["www-authenticate"] == "Bearer"
        with client_at(server, TOKEN) as client:
            assert client.models.list().data
        foreign = httpx.get(
            f"{server.base_url}/v1/models", headers={"Origin": "https://evil.example"}
        )
        assert foreign.json()["error"]["type"] == "permission_error"
        assert foreign.status_code == 403


@pytest.mark.parametrize("stream", [False, True])
def test_who_leaves_stops_the_run(tmp_path: Path, stream: bool) -> None:
    engine = ScriptedEngine(waits=True)
    libraries = libraries_of(settings_at(tmp_path), engine)

    async def leave(base: str) -> None:
        async with openai.AsyncOpenAI(base_url=f"{base}/v1", api_key="none") as client:
            asking = asyncio.create_task(_drained(client, stream=stream))
            assert await asyncio.to_thread(engine.began.wait, 10)
            asking.cancel()
            await asyncio.wait([asking])

    with served(tmp_path, libraries=libraries) as server:
        asyncio.run(leave(server.base_url))
        assert engine.stopped.wait(10)


async def _drained(client: openai.AsyncOpenAI, *, stream: bool) -> None:
    asked = await client.chat.completions.create(
        model="secondlook", messages=user(DEPTH), stream=stream
    )
    if isinstance(asked, openai.AsyncStream):
        async for _ in asked:
            pass


# Messages read, and answers written, without a server


def cited(number: int, **changes: Any) -> Citation:
    first = answer_of().citations[0]
    return first.model_copy(update={"number": number, "title": f"Paper {number}", **changes})


def links(answer: Answer) -> list[str]:
    """What the annotations point at, which must be what stands there."""
    text, annotations = written(answer, BASE)
    found = []
    for one in annotations:
        place = one.url_citation
        number = place.url.rpartition("/")[2]
        shown = text[place.start_index : place.end_index]
        assert shown == f"[[{number}]]({PAGE}/citations/{number})"
        found.append(number)
    return found


def test_what_looks_like_a_mark_within_a_claim_is_left_alone() -> None:
    quote = "See note [1] of the survey."
    answer = answer_of(text=f"{quote} [1]", claims=(Claim(text=quote, citations=(1,)),))
    assert r"See note \[1\] of the survey. [[1]](" in written(answer, BASE)[0]
    assert links(answer) == ["1", "1"]


@pytest.mark.parametrize(
    "hostile",
    [
        "![x](https://evil.example/leak.png)",
        "[click](javascript:alert)",
        "<img src=x onerror=alert(1)>",
        "\ue0001\ue001 and \ue0007\ue001",
    ],
)
def test_words_of_documents_stay_words(hostile: str) -> None:
    table = ResultTable(columns=(hostile,), rows=((hostile,),), total_rows=1)
    answer = answer_of(
        text=f"{hostile} [1]",
        short=hostile,
        assumed=hostile,
        claims=(Claim(text=hostile, citations=(1,)),),
        citations=(cited(1, title=hostile),),
        analysis=Analysis(kind="computed", table=table),
    )
    said = written(answer, BASE)[0]
    assert set(re.findall(r"(?<!\\)\]\((\w+:[^/]*//[^/)]*)", said)) == {"http://localhost:8765"}
    assert "<img" not in said.replace("\\<img", "")
    assert links(answer) == ["1", "1"]
