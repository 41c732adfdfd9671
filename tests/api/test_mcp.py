"""The official MCP client against the server's `/mcp`: tools, resources, and who is let in."""

from __future__ import annotations

import asyncio
import base64
import errno
import json
import re
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, get_args

import httpx
import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.types import TextResourceContents

from secondlook.graphs.registry import WORKFLOWS
from secondlook.library.manifest import writing
from secondlook.server.mcp_tools import WorkflowName
from tests.support.protocols import ScriptedEngine, harbour, libraries_of
from tests.support.serving import client_of, served, settings_at

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
    from pathlib import Path

    from mcp.types import CallToolResult

    from tests.support.serving import Serving

DEPTH = "how deep is berth 4"
SECRET = "a-secret-word"  # noqa: S105
_DATA = re.compile(r"<<evidence-([0-9a-f]{8}) \d+>> (.*?)\n<<end-\1>>", re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return harbour(tmp_path_factory.mktemp("mcp"))


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Serving]:
    with served(folder, serve={"roots": [str(folder / "papers")]}) as serving:
        yield serving


def within(server: Serving, work: Callable[[Client], Awaitable[Any]], mode: str = "auto") -> Any:
    async def run() -> Any:
        async with Client(f"{server.base_url}/mcp", mode=mode) as client:
            return await work(client)

    return asyncio.run(run())


def call(server: Serving, tool: str, **arguments: Any) -> CallToolResult:
    result: CallToolResult = within(server, lambda client: client.call_tool(tool, arguments))
    return result


def said(result: CallToolResult) -> str:
    return "".join(block.text for block in result.content if block.type == "text")


def data_in(text: str) -> str:
    """What stands between the marks; they must be there."""
    found = _DATA.search(text)
    assert found, text
    return found[2]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_five_tools_say_what_they_do(server: Serving, mode: str) -> None:
    async def looked(client: Client) -> Any:
        assert client.instructions is not None
        assert "data" in client.instructions
        return (await client.list_tools()).tools

    tools = {tool.name: tool for tool in within(server, looked, mode)}
    assert list(tools) == ["ask", "analyse", "search", "read_source", "add"]
    for name, tool in tools.items():
        assert tool.title
        assert len(tool.description or "") > 60
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is (name != "add")
        assert tool.annotations.destructive_hint is False
        assert tool.output_schema is not None
        for parameter in tool.input_schema["properties"].values():
            assert "description" in parameter, (name, parameter)
    assert tools["ask"].input_schema["required"] == ["question"]


def test_the_workflows_are_those_that_there_are() -> None:
    assert set(get_args(WorkflowName)) == set(WORKFLOWS)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_an_answer_comes_with_its_evidence_and_steps(server: Serving, mode: str) -> None:
    steps: list[str] = []

    async def told(progress: float, total: float | None, message: str | None) -> None:
        steps.append(message or "")

    async def asked(client: Client) -> CallToolResult:
        given = {"question": DEPTH, "workflow": "linear"}
        return await client.call_tool("ask", given, progress_callback=told)

    result = within(server, asked, mode)
    found = result.structured_content
    assert not result.is_error
    assert (found["status"], found["short"]) == ("answered", "7.8 metres")
    assert found["citations"][0]["quote"] in data_in(said(result))
    assert "Retrieve ..." in steps
    assert any(step.startswith("Found ") for step in steps)
    held = httpx.get(f"{server.base_url}/api/runs/{found['run']}").json()
    assert held["status"] == "answered"


def test_what_is_not_known_is_no_error_and_says_so(server: Serving) -> None:
    result = call(server, "ask", question="who is the king of France", workflow="linear")
    assert not result.is_error
    assert result.structured_content is not None
    assert result.structured_content["status"] == "abstained"
    assert "do not guess" in said(result)


def test_a_citation_can_be_read(server: Serving) -> None:
    asked = call(server, "ask", question=DEPTH, workflow="linear").structured_content
    assert asked is not None
    cited = asked["citations"][0]
    place = {name: cited[name] for name in ("document", "start", "end")}
    read = call(server, "read_source", **place).structured_content
    assert read is not None
    begin = cited["start"] - read["start"]
    assert read["text"][begin : begin + len(cited["quote"])] == cited["quote"]
    assert (read["page"], read["pages"], read["more"]) == (2, 6, True)
    page = call(server, "read_source", document=cited["title"], page=2).structured_content
    assert page is not None
    assert cited["quote"] in page["text"]
    on = call(server, "read_source", document=cited["document"], start=page["end"])
    assert on.structured_content is not None
    assert on.structured_content["start"] == page["end"]
    first = call(server, "read_source", document=cited["document"]).structured_content
    assert first is not None
    assert (first["start"], first["more"]) == (0, False)


def test_a_search_leads_to_passages_that_can_be_read(server: Serving) -> None:
    result = call(server, "search", query="dredging", k=2)
    assert result.structured_content is not None
    hits = result.structured_content["hits"]
    assert 0 < len(hits) <= 2
    read = call(server, "read_source", passage=hits[0]["passage"]).structured_content
    assert read is not None
    assert hits[0]["text"] in read["text"]
    nothing = call(server, "search", query="dredging", filters={"kind": "odt"})
    assert said(nothing).startswith("Nothing was found")


def test_figures_are_computed_with_their_code(server: Serving) -> None:
    result = call(server, "analyse", question="what is the mean of price by region")
    told = result.structured_content
    assert told is not None
    assert told["status"] == "answered"
    assert told["table"]["columns"][0] == "region"
    assert "select" in told["code"].lower()
    assert all(check["passed"] for check in told["checks"])
    assert "North\t" in data_in(said(result))
    asked = call(server, "ask", question="what is the mean of price by region")
    assert asked.structured_content is not None
    assert asked.structured_content["table"] == told["table"]
    assert told["code"] in data_in(said(asked))
    unknown = call(server, "analyse", question="what is the mean of rainfall")
    assert unknown.structured_content is not None
    assert unknown.structured_content["status"] == "abstained"


def test_orders_in_a_document_stay_data(server: Serving) -> None:
    given = {"question": "when does the ferry office open", "workflow": "linear"}
    asked = call(server, "ask", **given)
    assert asked.structured_content is not None
    (warning,) = asked.structured_content["warnings"]
    assert warning.startswith("quarantine: 1 of the passages")
    for tool, arguments, expected in (
        ("ask", given, "Ferry office"),
        ("search", {"query": "ferry office", "k": 1}, "ferry office opens"),
        ("read_source", {"document": "ferry.md"}, "ferry office opens"),
    ):
        text = said(call(server, tool, **arguments))
        inside = data_in(text)
        assert expected in inside
        outside = _DATA.sub("", text)
        assert "ignore all earlier" not in outside
        assert "SYSTEM" not in outside
        # Its own marks are words now: nothing in it can end the block or speak as somebody else.
        assert "<<end-00000000>>" not in text
        assert "<|im_start|>" not in text


async def text_of(client: Client, uri: str) -> str:
    (content,) = (await client.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    return content.text


def test_documents_are_resources(server: Serving) -> None:
    async def read(client: Client) -> None:
        listed = (await client.list_resources()).resources
        assert listed[0].uri == "secondlook://documents"
        survey = next(one for one in listed if one.title == "Halvermouth Harbour Survey 2024")
        everything = await text_of(client, "secondlook://documents")
        assert survey.uri in [one["uri"] for one in json.loads(everything)["documents"]]
        whole = await text_of(client, survey.uri)
        page = await text_of(client, f"{survey.uri}/pages/2")
        assert "deepest berth" in data_in(whole)
        assert "deepest berth" in data_in(page)
        assert len(page) < len(whole)
        for missing in ("secondlook://documents/0000", f"{survey.uri}/pages/99"):
            with pytest.raises(MCPError, match=r"no document|no page"):
                await client.read_resource(missing)

    within(server, read)


def test_what_is_added_can_be_asked_about(server: Serving) -> None:
    text = "# Gulls\n\nThe gulls of Halvermouth nest on the roof of the smokehouse.\n"
    result = call(server, "add", name="../../gulls.md", text=text)
    assert not result.is_error, said(result)
    assert result.structured_content is not None
    file = result.structured_content["files"][0]
    assert (file["name"], file["status"]) == ("gulls.md", "ready")
    asked = call(
        server, "ask", question="where do the gulls nest", documents=[file["document"]]
    ).structured_content
    assert asked is not None
    assert "smokehouse" in asked["text"]
    packed = base64.b64encode(b"Kelp grows on the breakwater.").decode()
    assert not call(server, "add", name="kelp.txt", base64=packed).is_error


def test_paths_are_taken_under_open_folders_alone(server: Serving, folder: Path) -> None:
    inside = folder / "papers" / "eels.md"
    inside.write_text("# Eels\n\nEels sleep below berth 2.\n", encoding="utf-8")
    outside = folder / "secret.md"
    outside.write_text("# Secret\n\nNobody should read this.\n", encoding="utf-8")
    (folder / "papers" / "link.md").symlink_to(outside)
    added = call(server, "add", paths=[str(inside)])
    assert not added.is_error, said(added)
    for path in (outside, folder / "papers" / "link.md", folder / "papers" / ".." / "secret.md"):
        refused = call(server, "add", paths=[str(path)])
        assert refused.is_error
        assert "is not under a folder" in said(refused)
    missing = call(server, "add", paths=[str(folder / "papers" / "nothing.md")])
    assert "there is no" in said(missing)


def test_a_full_disk_is_told(server: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("secondlook.server.mcp_tools.new_staging", full)
    result = call(server, "add", name="a.md", text="Some words.")
    assert result.is_error
    assert "No space left" in said(result)


def test_who_cancels_stops_an_addition(server: Serving, folder: Path) -> None:
    served = server.app.state.served

    async def cancel(client: Client) -> None:
        waiting = asyncio.Event()

        async def told(progress: float, total: float | None, message: str | None) -> None:
            waiting.set()

        given = {"name": "late.md", "text": "# Late\n\nToo late to be stored."}
        adding = asyncio.create_task(client.call_tool("add", given, progress_callback=told))
        await waiting.wait()
        (job,) = served.jobs.active("default")
        adding.cancel()
        await asyncio.wait([adding])
        assert [form.status async for form in job.changes()][-1] == "stopped"

    with writing(folder / "library", wait=0):
        within(server, cancel)


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("ask", {"question": ""}, "at least 1 character"),
        ("ask", {"question": "x" * 5000}, "5000 characters"),
        ("ask", {"question": DEPTH, "documents": ["nothing.pdf"]}, "no document 'nothing.pdf'"),
        ("ask", {"question": DEPTH, "library": "other"}, "there are default"),
        ("ask", {"question": DEPTH, "workflow": "magic"}, "'auto'"),
        ("search", {"query": "x", "k": 500}, "less than or equal to 50"),
        ("read_source", {}, "give a document or a passage"),
        ("read_source", {"passage": "nothing"}, "no passage 'nothing'"),
        ("read_source", {"document": "ferry.md", "page": 7}, "has no page 7"),
        ("read_source", {"document": "ferry.md", "start": 10**6}, "no place in this document"),
        ("read_source", {"document": "ferry.md", "start": 9, "end": 3}, "no place in this"),
        ("add", {"name": "a.md"}, "give text or base64"),
        ("add", {"name": "a.md", "text": ""}, "is empty"),
        ("add", {"name": "a.pdf", "base64": "%%%"}, "not base64"),
        ("add", {"name": "a.pdf", "text": "x", "paths": ["/etc"]}, "not both"),
        ("add", {"name": "a.exe", "base64": "TVqQAAMAAAAEAAAA"}, "nothing could be added"),
        ("add", {"paths": ["\0"]}, "is not under a folder"),
    ],
)
def test_mistakes_say_what_to_do(
    server: Serving, tool: str, arguments: dict[str, Any], words: str
) -> None:
    result = call(server, tool, **arguments)
    assert result.is_error
    assert words in said(result)


def test_a_document_that_is_too_large_is_refused(server: Serving) -> None:
    from secondlook.errors import LimitExceeded
    from secondlook.server.mcp_tools import MOST_BYTES, content

    for text, packed in (("x" * (MOST_BYTES + 1), None), (None, "A" * (MOST_BYTES * 2))):
        with pytest.raises(LimitExceeded, match="more than 16 MB"):
            content(text, packed)


def test_paths_are_off_by_default(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        refused = call(server, "add", paths=["/etc/passwd"])
    assert refused.is_error
    assert "serve.roots" in said(refused)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "https://evil.example"}, 403),
        ({"Host": "evil.example"}, 421),
        ({"Content-Type": "text/plain"}, 415),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
    ],
)
def test_a_hostile_page_is_not_let_in(server: Serving, headers: Any, status: int) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    given = {"Content-Type": "application/json", "Accept": "application/json", **headers}
    answer = httpx.post(f"{server.base_url}/mcp", content=json.dumps(message), headers=given)
    assert answer.status_code == status


@asynccontextmanager
async def connected(server: Serving, token: str) -> AsyncIterator[Client]:
    bearer = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=bearer) as carrier,
        Client(streamable_http_client(f"{server.base_url}/mcp", http_client=carrier)) as client,
    ):
        yield client


def test_a_token_is_asked_for(tmp_path: Path) -> None:
    async def tools(server: Serving, token: str) -> int:
        async with connected(server, token) as client:
            return len((await client.list_tools()).tools)

    with served(tmp_path, token=SECRET) as server:
        assert asyncio.run(tools(server, SECRET)) == 5
        with pytest.raises(ExceptionGroup) as caught:
            asyncio.run(tools(server, "wrong"))
        assert caught.group_contains(MCPError, match="error response")
        plain = httpx.post(f"{server.base_url}/mcp", json={})
        assert plain.status_code == 401


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_who_cancels_stops_the_run(tmp_path: Path, mode: str) -> None:
    engine = ScriptedEngine(waits=True)
    libraries = libraries_of(settings_at(tmp_path), engine)

    async def cancel(server: Serving) -> None:
        async with Client(f"{server.base_url}/mcp", mode=mode) as client:
            asking = asyncio.create_task(client.call_tool("ask", {"question": DEPTH}))
            assert await asyncio.to_thread(engine.began.wait, 10)
            asking.cancel()
            await asyncio.wait([asking])
            assert await asyncio.to_thread(engine.stopped.wait, 10)

    with served(tmp_path, libraries=libraries) as server:
        asyncio.run(cancel(server))


def test_a_run_that_breaks_down_keeps_its_secrets(tmp_path: Path) -> None:
    engine = ScriptedEngine(error=RuntimeError("a secret of the inside"))
    with served(tmp_path, libraries=libraries_of(settings_at(tmp_path), engine)) as server:
        result = call(server, "ask", question=DEPTH)
    assert result.is_error
    assert "secret" not in said(result)


def test_without_the_extra_the_server_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("secondlook.server.mcp.is_installed", lambda: False)
    with client_of(tmp_path) as client:
        answer = client.post("/mcp", json={})
        assert client.get("/api/health").status_code == 200
    assert answer.status_code == 404
    assert answer.json()["code"] == "mcp_extra_missing"
    assert "pip install mcp" in answer.json()["hint"]
