"""The process that runs one model, told by its input. It is apart because llama.cpp cannot be
interrupted while it reads a prompt, and may end the whole process."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import queue
import re
import secrets
import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from secondlook.models.gguf import UnusableModel, control_marks, usable_context
from secondlook.processes import die_with_parent, own_pipes, receive, send

_PROMPT_CACHE_MIB = 512  # for the prompts of earlier calls; llama.cpp itself would take 8 GiB
_COUNT_SECONDS = 120.0
_ERRORS_ONLY = 1


class Refused(Exception):
    """The request cannot be carried out; `reason` tells `failures.from_worker` what it means."""

    def __init__(self, reason: str, why: str) -> None:
        super().__init__(why)
        self.reason = reason


class Model:
    """llama.cpp with one model in it, as the worker process drives it."""

    def __init__(self, server: Any, api_key: str, marks: Iterable[str]) -> None:
        self._server = server
        self._api_key = api_key
        longest_first = sorted(set(marks), key=len, reverse=True)
        self._marks = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None
        self.context_tokens = int(self._get("/props")["default_generation_settings"]["n_ctx"])

    @classmethod
    def load(cls, launch: dict[str, Any]) -> Model:
        try:
            import xllamacpp
        except ImportError as error:
            raise Refused("engine", str(error)) from error
        api_key = secrets.token_urlsafe(32)
        try:
            path = Path(launch["path"])
            context = usable_context(path, int(launch["context_tokens"]))
            parameters = xllamacpp.CommonParams()
            _set(parameters, path, context, int(launch["threads"]), api_key)
            return cls(xllamacpp.Server(parameters), api_key, control_marks(path))
        except (UnusableModel, RuntimeError, ValueError, MemoryError) as error:
            raise Refused("load", str(error)) from error

    def count(self, messages: list[dict[str, str]]) -> int:
        """Tokens of the prompt as the model's chat template writes it."""
        body = {"messages": self._harmless(messages)}
        return int(self._get("/v1/chat/completions/input_tokens", body)["input_tokens"])

    def complete(
        self, request: dict[str, Any], emit: Callable[[dict[str, Any]], None]
    ) -> dict[str, Any]:
        reply, schema = StreamedReply(emit), request.get("schema")
        body: dict[str, Any] = {
            "messages": self._harmless(request["messages"]),
            "max_tokens": max(1, request["max_tokens"]),
            "temperature": request["temperature"],
            "stop": request["stop"],
            "cache_prompt": True,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if request.get("seed") is not None:
            body["seed"] = request["seed"] & 0x7FFFFFFF
        if schema is not None:
            # A grammar for compact JSON: half the tokens, and no endless white space.
            # `response_format` would do too, but lets small models indent for ever.
            style = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
            strict = json.dumps({**closed_objects(schema), "x-guidance": style})
            body["grammar"] = f"%llguidance {{}}\nstart: %json {strict}"
        try:
            self._server.handle_chat_completions(body, reply.take)
        except (RuntimeError, ValueError, TypeError) as error:
            raise Refused("request", str(error)) from error
        return reply.result(is_json=schema is not None)

    def _harmless(self, messages: list[dict[str, str]]) -> list[dict[str, str]]:
        return [
            {"role": message["role"], "content": harmless(message["content"], self._marks)}
            for message in messages
        ]

    def _get(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Counting is offered by llama.cpp's own HTTP server only, whose key never leaves here."""
        address = urlsplit(self._server.listening_address)
        host = address.hostname or ""
        connection = http.client.HTTPConnection(host, address.port, timeout=_COUNT_SECONDS)
        with contextlib.closing(connection):
            connection.request(
                "GET" if body is None else "POST",
                path,
                None if body is None else json.dumps(body),
                {"Authorization": f"Bearer {self._api_key}", "Content-Type": "application/json"},
            )
            response = connection.getresponse()
            answered: dict[str, Any] = json.loads(response.read())
        if response.status != http.client.OK:
            raise _refusal(answered)
        return answered


def _set(parameters: Any, path: Path, context: int, cores: int, api_key: str) -> None:
    parameters.model.path = str(path)
    parameters.n_ctx = context
    parameters.n_parallel = 1
    parameters.cache_ram_mib = _PROMPT_CACHE_MIB
    # Writing is bound by memory, not by cores: half of them are as fast and leave air to others.
    parameters.cpuparams.n_threads = max(1, cores // 2)
    parameters.cpuparams_batch.n_threads = cores
    parameters.warmup = False
    parameters.enable_reasoning = 0  # replies are short: thinking aloud would use them up
    parameters.verbosity = _ERRORS_ONLY

    # The HTTP server cannot be left out, but nobody else gets anything from it.
    parameters.offline = True
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.api_keys = [api_key]
    parameters.n_threads_http = 2
    parameters.ui = False
    parameters.endpoint_slots = False


def harmless(content: str, marks: re.Pattern[str] | None) -> str:
    """Text in which the model's own control marks are only text: llama.cpp would take `<|im_end|>`
    in a document for the end of the message."""
    encodable = content.encode("utf-8", "replace").decode("utf-8")
    if marks is None:
        return encodable
    return marks.sub(lambda mark: f"{mark[0][0]} {mark[0][1:]}", encodable)


def closed_objects(schema: Any) -> Any:
    """The schema with no room for keys it does not name, where it does not ask for them."""
    if isinstance(schema, list):
        return [closed_objects(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: closed_objects(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
        inner.setdefault("additionalProperties", False)
    return inner


class StreamedReply:
    """Collects what llama.cpp says piece by piece, and passes the text on at once."""

    def __init__(self, emit: Callable[[dict[str, Any]], None]) -> None:
        self._emit = emit
        self._pieces: list[str] = []
        self._finish: str | None = None
        self._usage: dict[str, Any] = {}
        self._error: Exception | None = None

    def take(self, chunk: dict[str, Any]) -> bool:
        """True stops the generation. Whatever is raised in here would vanish, so it is kept."""
        try:
            if "error" in chunk:
                raise _refusal(chunk)  # noqa: TRY301
            self._usage = chunk.get("usage") or self._usage
            for choice in chunk.get("choices", ()):
                self._finish = choice.get("finish_reason") or self._finish
                if text := choice.get("delta", {}).get("content"):
                    self._pieces.append(text)
                    self._emit({"kind": "text", "text": text})
        except Exception as error:  # noqa: BLE001 - see above; result() raises it
            self._error = error
        return self._error is not None

    def result(self, *, is_json: bool) -> dict[str, Any]:
        if self._error is not None:
            raise self._error
        text = "".join(self._pieces)
        if self._finish is None:
            raise Refused("request", "llama.cpp ended without a result")
        if is_json and self._finish != "length":
            # A schema that the grammar cannot express leaves the model free: that must not pass.
            try:
                json.loads(text)
            except ValueError as error:
                raise Refused("schema", f"it replied {text[:80]!r}") from error
        spent = self._usage
        cached = (spent.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
        return {
            "text": text,
            "finish": "length" if self._finish == "length" else "stop",
            "tokens_in": int(spent.get("prompt_tokens", 0)),
            "tokens_out": int(spent.get("completion_tokens", 0)),
            "tokens_cached": int(cached),
        }


def _refusal(reply: dict[str, Any]) -> Refused:
    error = reply.get("error", {})
    why = str(error.get("message", reply))
    is_overflow = error.get("type") == "exceed_context_size_error"
    return Refused("overflow" if is_overflow else "request", why)


def main() -> None:
    """Entry point of the process; the first message says which model to load, and how."""
    inbox, outbox = own_pipes(silent_errors=False)  # llama.cpp's errors go to the log
    _confine()
    requests: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
    is_idle = threading.Event()

    def listen() -> None:
        with contextlib.suppress(EOFError, OSError, ValueError):
            while True:
                requests.put(receive(inbox))
        if not is_idle.is_set():
            os._exit(0)  # the parent is gone; nobody waits for what is being made
        requests.put(None)

    threading.Thread(target=listen, daemon=True).start()
    launch = requests.get()
    if launch is None:
        return
    try:
        model = Model.load(launch)
    except Refused as refusal:
        _refuse(outbox, refusal)
        return
    send(outbox, {"kind": "ready", "context_tokens": model.context_tokens})
    serve(model, requests.get, outbox, is_idle)


def _confine() -> None:
    """Dies with the parent, before the parent when memory runs out, and leaves no core file."""
    if sys.platform == "win32":
        return
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        die_with_parent()
        with contextlib.suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text("500", encoding="ascii")


def serve(
    model: Model,
    next_request: Callable[[], dict[str, Any] | None],
    outbox: IO[bytes],
    is_idle: threading.Event,
) -> None:
    """Answers one request after the other until its input ends."""
    while True:
        is_idle.set()
        request = next_request()
        is_idle.clear()
        if request is None:
            return
        try:
            if request["kind"] == "count":
                reply = {"tokens": model.count(request["messages"])}
            else:
                reply = model.complete(request, lambda piece: send(outbox, piece))
        except Refused as refusal:
            _refuse(outbox, refusal)
        else:
            send(outbox, {"kind": "done", **reply})


def _refuse(outbox: IO[bytes], refusal: Refused) -> None:
    send(outbox, {"kind": "failed", "reason": refusal.reason, "why": str(refusal)})


if __name__ == "__main__":
    main()
