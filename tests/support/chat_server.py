"""A server on loopback that speaks OpenAI's chat protocol and Ollama's, streams included. What it
says is a function of the body it is sent. `Said` has the odd cases: pieces without end, other
finishes, tool calls, no usage, an HTTP refusal, a connection that breaks off."""

import json
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

Body = dict[str, Any]


@dataclass(frozen=True)
class Said:
    pieces: Iterable[str] = ()
    tool: str | None = None
    """Arguments of a tool call, as JSON."""
    finish: str = "stop"
    tokens_in: int = 11
    tokens_out: int = 7
    cached: int = 0
    usage: bool = True
    status: int = 200
    error: Body | str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    breaks: bool = False
    silent: bool = False
    """Accepts the request and then says nothing until the server is closed."""


Reply = Callable[[Body], Said | str]


@dataclass(frozen=True)
class Request:
    path: str
    body: Body
    headers: dict[str, str]


class ChatServer:
    def __init__(self, reply: Reply, *, facts: dict[str, Body] | None = None) -> None:
        self.reply = reply
        self.facts = facts or {}
        """What else it answers, by path."""
        self.requests: list[Request] = []
        self.closing = threading.Event()
        self.hung_up = threading.Event()
        """A client went away in the middle of a stream."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def chats(self) -> list[Request]:
        return [request for request in self.requests if request.path.endswith(("chat", "s"))]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(server: ChatServer) -> type[BaseHTTPRequestHandler]:  # noqa: C901  # one class
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

        def do_GET(self) -> None:
            self._answer({})

        def do_POST(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            self._answer(json.loads(self.rfile.read(length) or b"{}"))

        def _answer(self, body: Body) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            server.requests.append(Request(self.path, body, headers))
            path = self.path.partition("?")[0]
            try:
                if path in server.facts:
                    self._json(200, server.facts[path])
                elif path.endswith("/chat/completions"):
                    self._say(body, _openai)
                elif path == "/api/chat":
                    self._say(body, _ollama)
                else:
                    self._json(404, {"error": {"message": "no such path"}})
            except (BrokenPipeError, ConnectionResetError):
                server.hung_up.set()

        def _say(self, body: Body, lines: Callable[[Body, Said], Iterator[str]]) -> None:
            said = server.reply(body)
            if isinstance(said, str):
                said = Said([said])
            if said.silent:
                server.closing.wait()
                return
            if said.error is not None:
                self._json(said.status, said.error, said.headers)
                return
            if lines is _openai and not body.get("stream"):
                self._json(200, _whole(said))
                return
            self.send_response(200)
            kind = "text/event-stream" if lines is _openai else "application/x-ndjson"
            self.send_header("content-type", kind)
            self.end_headers()
            for line in lines(body, said):
                if server.closing.is_set():
                    return
                self.wfile.write(line.encode())
                self.wfile.flush()

        def _json(
            self, status: int, content: Body | str, headers: dict[str, str] | None = None
        ) -> None:
            text = content if isinstance(content, str) else json.dumps(content)
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(text.encode())))
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text.encode())

    return Handler


def _openai(body: Body, said: Said) -> Iterator[str]:
    def event(delta: Body, finish: str | None = None) -> str:
        return _sse({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    for piece in said.pieces:
        yield event({"role": "assistant", "content": piece})
    if said.breaks:
        return
    if said.tool is not None:
        name = body["tools"][0]["function"]["name"]
        middle = len(said.tool) // 2
        for number, part in enumerate((said.tool[:middle], said.tool[middle:])):
            first = {"id": "c1", "type": "function"} if number == 0 else {}
            function = {"arguments": part} | ({"name": name} if number == 0 else {})
            yield event({"tool_calls": [{"index": 0, "function": function, **first}]})
    yield event({}, said.finish)
    if said.usage and (body.get("stream_options") or {}).get("include_usage"):
        counts = {"prompt_tokens": said.tokens_in, "completion_tokens": said.tokens_out}
        counts["total_tokens"] = said.tokens_in + said.tokens_out
        details = {"prompt_tokens_details": {"cached_tokens": said.cached}}
        yield _sse({"choices": [], "usage": counts | details})
    yield "data: [DONE]\n\n"


def _whole(said: Said) -> Body:
    """A reply to a request that does not want a stream."""
    message = {"role": "assistant", "content": "".join(said.pieces)}
    choice = {"index": 0, "message": message, "finish_reason": said.finish}
    return {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


def _sse(content: Body) -> str:
    frame = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return f"data: {json.dumps(frame | content)}\n\n"


def _ollama(body: Body, said: Said) -> Iterator[str]:
    frame = {"model": body["model"], "created_at": "2026-01-01T00:00:00Z"}

    def line(message: Body, **more: Any) -> str:
        told = {"role": "assistant", "content": "", **message}
        return json.dumps({**frame, "message": told, "done": False, **more}) + "\n"

    for piece in said.pieces:
        yield line({"content": piece})
    if said.breaks:
        return
    if said.tool is not None:
        name = body["tools"][0]["function"]["name"]
        call = {"function": {"name": name, "arguments": json.loads(said.tool)}}
        yield line({"tool_calls": [call]})
    counts = {"prompt_eval_count": said.tokens_in, "eval_count": said.tokens_out}
    yield line({}, done=True, done_reason=said.finish, **(counts if said.usage else {}))
