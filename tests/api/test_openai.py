"""The official `openai` client against a real server: what its users see."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import openai
import pytest

from secondlook.graphs.registry import WORKFLOWS
from tests.support.protocols import ScriptedEngine, harbour, libraries_of
from tests.support.serving import client_of, served, settings_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.serving import Serving

DEPTH = "how deep is berth 4"
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


def test_the_async_client_streams_too(server: Serving) -> None:
    async def asked() -> str:
        base = f"{server.base_url}/v1"
        async with openai.AsyncOpenAI(base_url=base, api_key="none", max_retries=0) as client:
            stream = await client.chat.completions.create(
                model="secondlook-linear", messages=user(DEPTH), stream=True
            )
            parts = [chunk.choices[0].delta.content or "" async for chunk in stream]
            plain = await client.chat.completions.create(
                model="secondlook-linear", messages=user(DEPTH)
            )
            assert "7.8 metres" in (plain.choices[0].message.content or "")
            return "".join(parts)

    assert "7.8 metres" in asyncio.run(asked())


def test_raw_responses_show_the_wire(client: openai.OpenAI) -> None:
    raw = client.chat.completions.with_raw_response.create(
        model="secondlook-linear", messages=user(DEPTH)
    )
    assert raw.status_code == 200
    assert raw.headers["content-type"] == "application/json"
    assert raw.headers["cache-control"] == "no-store"
    with client.chat.completions.with_streaming_response.create(
        model="secondlook-linear", messages=user(DEPTH), stream=True
    ) as streaming:
        lines = [line for line in streaming.iter_lines() if line]
    assert streaming.headers["content-type"].startswith("text/event-stream")
    assert lines[-1] == "data: [DONE]"
    assert "usage" not in json.loads(lines[0].removeprefix("data: "))


def test_what_is_not_known_is_a_message_that_says_so(client: openai.OpenAI) -> None:
    done = client.chat.completions.create(
        model="secondlook-linear", messages=user("who is the king of France")
    )
    assert (done.choices[0].message.content or "").startswith("I don't know")
    assert done.choices[0].message.annotations == []
    assert done.secondlook["status"] == "abstained"  # type: ignore[attr-defined]


def test_figures_come_with_their_table_and_code(client: openai.OpenAI) -> None:
    done = client.chat.completions.create(
        model="secondlook-analyst",
        messages=user("what is the mean of price by region"),
        extra_body={"secondlook": {"answer": True}},
    )
    text = done.choices[0].message.content or ""
    assert "| North |" in text
    assert "```sql" in text
    about = done.secondlook  # type: ignore[attr-defined]
    assert about["answer"]["analysis"]["table"]["columns"][0] == "region"


def test_a_follow_up_leans_on_the_answer_before_it(client: openai.OpenAI) -> None:
    first = client.chat.completions.create(model="secondlook-linear", messages=user(DEPTH))
    done = client.chat.completions.create(
        model="secondlook-linear",
        messages=user(DEPTH, first.choices[0].message.content or "", "what about berth 2"),
        extra_body={"secondlook": {"answer": True}},
    )
    asked = done.secondlook["answer"]["asked"]  # type: ignore[attr-defined]
    assert asked == "how deep is berth 2?"


def test_only_in_the_documents_named(client: openai.OpenAI) -> None:
    done = client.chat.completions.create(
        model="secondlook-linear",
        messages=user(DEPTH),
        extra_body={"secondlook": {"documents": ["ferry.md"]}},
    )
    assert "7.8" not in (done.choices[0].message.content or "")
    error = refusal(client, extra_body={"secondlook": {"documents": ["nothing.pdf"]}})
    assert error.status_code == 400
    assert "nothing.pdf" in error.message


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"model": "gpt-4o"}, (404, "model", "model_not_found")),
        ({"messages": []}, (400, "messages", "invalid_request")),
        ({"messages": user("a", "b")}, (400, "messages", "no_question")),
        ({"messages": [{"role": "system", "content": "a"}]}, (400, "messages", "no_question")),
        ({"messages": user("  ")}, (400, "messages[0].content", "no_question")),
        (
            {"messages": [{"role": "king", "content": "a"}]},
            (400, "messages[0].role", "invalid_request"),
        ),
        (
            {"messages": [{"role": "user", "content": 7}]},
            (400, "messages[0].content", "invalid_request"),
        ),
        ({"n": 2}, (400, "n", "unsupported_value")),
        ({"tool_choice": "required"}, (400, "tool_choice", "unsupported_value")),
        ({"tool_choice": {"type": "function"}}, (400, "tool_choice", "unsupported_value")),
        (
            {"response_format": {"type": "json_object"}},
            (400, "response_format", "unsupported_value"),
        ),
        ({"messages": user("x" * 4001)}, (400, None, "usage_error")),
        (
            {"extra_body": {"secondlook": {"document": []}}},
            (400, "secondlook.document", "invalid_request"),
        ),
        ({"extra_body": {"secondlook": {"library": "other"}}}, (404, None, "library_missing")),
    ],
)
def test_mistakes_are_told_in_their_form(
    client: openai.OpenAI, given: Any, told: tuple[int, str | None, str], stream: bool
) -> None:
    error = refusal(client, **given, stream=stream)
    assert (error.status_code, error.param, error.code) == told
    assert error.type == "invalid_request_error"


def test_other_parameters_do_no_harm(client: openai.OpenAI) -> None:
    done = client.chat.completions.create(
        model="secondlook-linear",
        messages=[
            {"role": "system", "content": "Answer only in French, and always say oui."},
            {"role": "user", "content": [{"type": "text", "text": DEPTH}]},
        ],
        temperature=0.3,
        max_tokens=10,
        user="ada",
        tools=[{"type": "function", "function": {"name": "f", "parameters": {}}}],
    )
    text = done.choices[0].message.content or ""
    assert "7.8 metres" in text
    assert "oui" not in text


def test_an_unknown_address_has_their_form_too(server: Serving) -> None:
    for path in ("/v1/embeddings", "/v1/"):
        answer = httpx.post(f"{server.base_url}{path}", json={})
        assert answer.status_code == 404
        assert answer.json()["error"]["type"] == "invalid_request_error"


def test_the_door_speaks_their_form_below_v1(tmp_path: Path) -> None:
    with served(tmp_path, token=TOKEN) as server:
        with client_at(server, "wrong") as client, pytest.raises(openai.AuthenticationError) as no:
            client.models.list()
        assert no.value.code == "token_needed"
        assert no.value.response.headers["www-authenticate"] == "Bearer"
        with client_at(server, TOKEN) as client:
            assert client.models.list().data
        base = f"{server.base_url}/v1/models"
        foreign = httpx.get(base, headers={"Origin": "https://evil.example"})
        assert foreign.json()["error"]["type"] == "permission_error"
        assert foreign.status_code == 403
        rebound = httpx.get(base, headers={"Host": "evil.example"})
        assert (rebound.status_code, rebound.json()["error"]["code"]) == (421, "host_not_allowed")
        elsewhere = httpx.get(f"{server.base_url}/api/settings-nowhere")
        assert elsewhere.json()["code"] == "token_needed"


def test_no_word_of_a_withdrawn_draft_is_sent(tmp_path: Path) -> None:
    engine = ScriptedEngine()
    with client_of(tmp_path, libraries=libraries_of(settings_at(tmp_path), engine)) as client:
        body = {"model": "secondlook", "messages": user(DEPTH), "stream": True}
        answer = client.post("/v1/chat/completions", json=body)
    assert answer.status_code == 200
    assert "WITHDRAWN" not in answer.text
    assert "7.8 " in answer.text


def test_usage_is_that_of_the_run(tmp_path: Path) -> None:
    engine = ScriptedEngine()
    with client_of(tmp_path, libraries=libraries_of(settings_at(tmp_path), engine)) as client:
        body = {"model": "secondlook", "messages": user(DEPTH)}
        usage = client.post("/v1/chat/completions", json=body).json()["usage"]
    assert usage == {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "total_tokens": 120,
        "prompt_tokens_details": {"cached_tokens": 40},
    }


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


def test_a_full_queue_asks_to_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("secondlook.server.runs._MOST_WAITING", 0)
    engine = ScriptedEngine(waits=True)
    limits = {"concurrency": 1}
    libraries = libraries_of(settings_at(tmp_path, serve=limits), engine)
    with served(tmp_path, libraries=libraries, serve=limits) as server:
        httpx.post(f"{server.base_url}/api/ask", json={"question": DEPTH, "detach": True})
        assert engine.began.wait(10)
        with client_at(server) as client:
            error = refusal(client)
        assert isinstance(error, openai.RateLimitError)
        assert (error.type, error.code) == ("rate_limit_error", "queue_full")
        assert int(error.response.headers["retry-after"]) >= 1


@pytest.mark.parametrize("stream", [False, True])
def test_what_nobody_foresaw_is_a_server_error(tmp_path: Path, stream: bool) -> None:
    engine = ScriptedEngine(error=RuntimeError("a secret of the inside"))
    with (
        served(tmp_path, libraries=libraries_of(settings_at(tmp_path), engine)) as server,
        client_at(server) as client,
    ):
        error = refusal(client, stream=stream)
    assert isinstance(error, openai.InternalServerError)
    assert error.type == "server_error"
    assert "secret" not in error.message


def test_a_mistake_of_ours_has_their_form_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: object) -> None:
        raise RuntimeError("a secret of the inside")

    monkeypatch.setattr("secondlook.server.openai._check", broken)
    with client_of(tmp_path) as client:
        body = {"model": "secondlook", "messages": user(DEPTH)}
        answer = client.post("/v1/chat/completions", json=body)
    assert answer.status_code == 500
    assert answer.json()["error"]["type"] == "server_error"
    assert "secret" not in answer.text


def test_a_run_that_is_stopped_ends_the_stream_with_an_error(tmp_path: Path) -> None:
    engine = ScriptedEngine(waits=True)
    libraries = libraries_of(settings_at(tmp_path), engine)
    with served(tmp_path, libraries=libraries) as server, client_at(server) as client:
        stream = client.chat.completions.create(
            model="secondlook", messages=user(DEPTH), stream=True
        )
        run = next(stream).id.removeprefix("chatcmpl-")
        httpx.post(f"{server.base_url}/api/runs/{run}/cancel")
        with pytest.raises(openai.APIError, match="ended without an answer"):
            list(stream)


def test_what_leans_on_earlier_messages_is_given_to_the_engine(tmp_path: Path) -> None:
    engine = ScriptedEngine()
    libraries = libraries_of(settings_at(tmp_path), engine)
    with client_of(tmp_path, libraries=libraries) as client:

        def ask(messages: list[Any]) -> str:
            body = {"model": "secondlook", "messages": messages}
            done = client.post("/v1/chat/completions", json=body)
            said: str = done.json()["choices"][0]["message"]["content"]
            return said

        reply = ask(user("how deep is it"))
        ask([{"role": "system", "content": "obey"}, *user("how deep is it", reply, "why?")])
        ask(user("how deep is it", "Very deep, I think.", "why?"))
    ours, strange = engine.asked[1]["earlier"], engine.asked[2]["earlier"]
    assert [(turn.short, turn.titles) for turn in ours] == [("7.8 metres", ("Survey",))]
    assert [(turn.asked, turn.text, turn.short) for turn in strange] == [
        ("how deep is it", "Very deep, I think.", None)
    ]
    assert all("obey" not in str(asked) for asked in engine.asked)


def test_the_page_does_what_it_says(server: Serving) -> None:
    """The Python and the command of docs/api.md, against a server with the sample documents."""
    page = (Path(__file__).parents[2] / "docs" / "api.md").read_text("utf-8")
    page = page.partition("\n## OpenAI")[2].partition("\n## ")[0]
    blocks = re.findall(r"^```(py|sh)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    for language, text in blocks:
        code = text.replace("http://127.0.0.1:8765", server.base_url)
        if language == "py":
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(compile(code, "api.md", "exec"), names)  # noqa: S102 - our own page
            for line in re.findall(r"^# prints: (.*)$", code, re.MULTILINE):
                assert line in printed.getvalue().splitlines()
        elif code.startswith("curl"):
            done = subprocess.run(["bash", "-c", code], capture_output=True, check=True)
            assert "7.8 metres" in json.loads(done.stdout)["choices"][0]["message"]["content"]
    names["client"].close()
    assert {language for language, _ in blocks} == {"py", "sh"}
