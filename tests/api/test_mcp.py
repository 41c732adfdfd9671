"""The official MCP client against the server's `/mcp`: tools, resources, and who is let in."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client, MCPError
from mcp.types import CallToolResult, TextResourceContents

from tests.support.protocols import ScriptedEngine, harbour, libraries_of
from tests.support.serving import Serving, served, settings_at

DEPTH = "how deep is berth 4"
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
    assert httpx.get(f"{server.base_url}/api/runs/{found['run']}").json()["status"] == "answered"


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
        assert expected in data_in(text)
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


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("ask", {"question": ""}, "at least 1 character"),
        ("ask", {"question": DEPTH, "documents": ["nothing.pdf"]}, "no document 'nothing.pdf'"),
        ("search", {"query": "x", "k": 500}, "less than or equal to 50"),
        ("read_source", {"passage": "nothing"}, "no passage 'nothing'"),
        ("read_source", {"document": "ferry.md", "start": 10**6}, "no place in this document"),
        ("add", {"name": "a.md"}, "give text or base64"),
        ("add", {"name": "a.pdf", "text": "x", "paths": ["/etc"]}, "not both"),
        ("add", {"paths": ["\0"]}, "is not under a folder"),
    ],
)
def test_mistakes_say_what_to_do(
    server: Serving, tool: str, arguments: dict[str, Any], words: str
) -> None:
    result = call(server, tool, **arguments)
    assert result.is_error
    assert words in said(result)


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
