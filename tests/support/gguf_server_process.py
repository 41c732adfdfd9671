"""The process behind `gguf_server`: xllamacpp's HTTP server, bare or behind Ollama's shape."""

from __future__ import annotations

import http.client
import json
import os
import sys
import threading
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

from secondlook.models.gguf import read_header

if TYPE_CHECKING:
    from collections.abc import Iterator

_OPTIONS = {"num_predict": "max_tokens", "temperature": "temperature", "seed": "seed",
            "stop": "stop", "top_p": "top_p", "top_k": "top_k"}  # fmt: skip


def main() -> None:
    launch = json.loads(sys.stdin.readline())
    quiet = os.open(os.devnull, os.O_WRONLY)
    told = os.fdopen(os.dup(1), "w")
    os.dup2(quiet, 1)
    server = _xllamacpp(launch)
    address = server.listening_address
    if launch["shape"] == "ollama":
        address = _serve_ollama(launch, address)
        told.write(f"{address}\n")
    else:
        told.write(f"{address}/v1\n")
    told.flush()
    sys.stdin.read()  # ends when the parent does
    os._exit(0)


def _xllamacpp(launch: dict[str, Any]) -> Any:
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = launch["path"]
    parameters.model_alias = {launch["name"]}
    parameters.n_ctx = launch["context_tokens"]
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    parameters.warmup = False
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.ui = False
    if launch["api_key"]:
        parameters.api_keys = [launch["api_key"]]
    return xllamacpp.Server(parameters)


def _serve_ollama(launch: dict[str, Any], inner: str) -> str:
    header = read_header(Path(launch["path"]))

    class Handler(OllamaHandler):
        upstream = inner
        name = launch["name"]
        model_info: ClassVar[dict[str, Any]] = {
            "general.architecture": header.architecture,
            f"{header.architecture}.context_length": header.context_tokens,
        }

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}"


class OllamaHandler(BaseHTTPRequestHandler):
    upstream = ""
    name = ""
    model_info: ClassVar[dict[str, Any]] = {}

    def do_GET(self) -> None:
        if self.path == "/api/version":
            self._json({"version": "0.12.0"})
        elif self.path == "/api/tags":
            self._json({"models": [self._tag()]})
        else:
            self._json({"error": f"no {self.path}"}, 404)

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        if request.get("model", "").removesuffix(":latest") != self.name:
            self._json({"error": f"model '{request.get('model')}' not found"}, 404)
        elif self.path == "/api/show":
            self._json({"model_info": self.model_info, "capabilities": ["completion", "tools"],
                        "details": self._tag()["details"], "parameters": ""})  # fmt: skip
        elif self.path == "/api/chat":
            self._chat(request)
        else:
            self._json({"error": f"no {self.path}"}, 404)

    def _tag(self) -> dict[str, Any]:
        details = {"format": "gguf", "family": self.model_info["general.architecture"],
                   "parameter_size": "135M", "quantization_level": "Q4_1"}  # fmt: skip
        return {"name": f"{self.name}:latest", "model": f"{self.name}:latest", "size": 1,
                "digest": "0" * 64, "modified_at": _now(), "details": details}  # fmt: skip

    def _chat(self, request: dict[str, Any]) -> None:
        address = urlsplit(self.upstream)
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=300)
        connection.request("POST", "/v1/chat/completions", json.dumps(_as_openai(request)),
                           {"Content-Type": "application/json"})  # fmt: skip
        response = connection.getresponse()
        if response.status != http.client.OK:
            error = json.loads(response.read())["error"]
            self._json({"error": error["message"]}, response.status)
            return
        lines = _as_ollama(_events(response), self.name)
        if not request.get("stream", True):
            self._json(_joined(list(lines)))
            return
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.end_headers()
        for line in lines:
            self.wfile.write(json.dumps(line).encode() + b"\n")
            self.wfile.flush()

    def _json(self, body: dict[str, Any], status: int = 200) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        pass


def _as_openai(request: dict[str, Any]) -> dict[str, Any]:
    options = request.get("options") or {}
    body: dict[str, Any] = {"messages": request["messages"], "stream": True,
                            "stream_options": {"include_usage": True}}  # fmt: skip
    body.update(
        {
            ours: options[theirs]
            for theirs, ours in _OPTIONS.items()
            if options.get(theirs) is not None
        }
    )
    if isinstance(schema := request.get("format"), dict):
        body["response_format"] = {"type": "json_schema",
                                   "json_schema": {"name": "reply", "schema": schema}}  # fmt: skip
    elif schema == "json":
        body["response_format"] = {"type": "json_object"}
    if request.get("tools"):
        body["tools"] = request["tools"]
    return body


def _events(response: http.client.HTTPResponse) -> Iterator[dict[str, Any]]:
    for line in response:
        if line.startswith(b"data: ") and line.strip() != b"data: [DONE]":
            yield json.loads(line.removeprefix(b"data: "))


def _as_ollama(events: Iterator[dict[str, Any]], name: str) -> Iterator[dict[str, Any]]:
    finish, calls = "stop", _ToolCalls()
    usage: dict[str, int] = {}
    for event in events:
        usage = event.get("usage") or usage
        for choice in event["choices"]:
            finish = choice.get("finish_reason") or finish
            calls.take(choice["delta"].get("tool_calls") or ())
            if text := choice["delta"].get("content"):
                yield _line(name, text)
    if calls.made:
        yield {**_line(name, ""), "message": {"role": "assistant", "content": "",
                                              "tool_calls": calls.as_ollama()}}  # fmt: skip
    yield {
        **_line(name, ""), "done": True, "done_reason": "length" if finish == "length" else "stop",
        "prompt_eval_count": usage.get("prompt_tokens", 0),
        "eval_count": usage.get("completion_tokens", 0),
        "total_duration": 1, "load_duration": 1, "prompt_eval_duration": 1, "eval_duration": 1,
    }  # fmt: skip


class _ToolCalls:
    """Tool calls arrive in pieces, their arguments as text."""

    def __init__(self) -> None:
        self.made: dict[int, dict[str, str]] = {}

    def take(self, pieces: Any) -> None:
        for piece in pieces:
            call = self.made.setdefault(piece["index"], {"name": "", "arguments": ""})
            for key in call:
                call[key] += piece["function"].get(key) or ""

    def as_ollama(self) -> list[dict[str, Any]]:
        return [
            {"function": {"name": call["name"], "arguments": json.loads(call["arguments"])}}
            for call in self.made.values()
        ]


def _joined(lines: list[dict[str, Any]]) -> dict[str, Any]:
    calls = [call for line in lines for call in line["message"].get("tool_calls", ())]
    message: dict[str, Any] = {
        "role": "assistant", "content": "".join(line["message"]["content"] for line in lines)
    }  # fmt: skip
    if calls:
        message["tool_calls"] = calls
    return {**lines[-1], "message": message}


def _line(name: str, text: str) -> dict[str, Any]:
    return {"model": name, "created_at": _now(), "done": False,
            "message": {"role": "assistant", "content": text}}  # fmt: skip


def _now() -> str:
    return datetime.now(UTC).isoformat()


if __name__ == "__main__":
    main()
