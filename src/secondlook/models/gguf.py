"""Local models out of a GGUF file, without a server: one worker process per model."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import struct
import subprocess
import tempfile
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from secondlook.errors import ContextOverflow, ModelError, ModelUnavailable, UnusableReply
from secondlook.models.chat import ChatRequest, ChatResult, Message
from secondlook.processes import ended, pipes_of, receive, send, started

DEFAULT_CONTEXT_TOKENS = 8192  # more than our prompts need; its memory grows with it
_JOIN_SECONDS = 5.0


class GgufChat:
    """Runs in a worker process that all chats with the same file share. Calls queue up. One that
    is cancelled kills the process: reading a prompt cannot be interrupted."""

    local = True

    def __init__(
        self, path: str | os.PathLike[str], *, context_tokens: int | None = None, threads: int = 0
    ) -> None:
        """Without `threads` it uses all cores that this process may use."""
        self.spec = f"gguf:{os.fspath(path)}"
        self._path = Path(path).expanduser().absolute()
        if not threads:  # a container or a batch system may have limited the cores
            limited = hasattr(os, "sched_getaffinity")
            threads = len(os.sched_getaffinity(0)) if limited else os.cpu_count() or 1
        context = context_tokens or DEFAULT_CONTEXT_TOKENS
        self._launch = Launch(str(self._path), context, threads)
        self._engine = lease(self._launch)
        self._give_back = weakref.finalize(self, give_back, self._launch)

    @property
    def worker_pid(self) -> int | None:
        """The process that holds the model; None while there is none."""
        process = self._engine.process
        return process.pid if process is not None and process.is_usable else None

    async def complete(
        self, request: ChatRequest, on_text: Callable[[str], None] | None = None
    ) -> ChatResult:
        same = {name: getattr(request, name) for name in ("max_tokens", "temperature", "seed")}
        message = {"kind": "complete", "messages": _plain(request.messages), **same}
        message["stop"] = list(request.stop)
        message["schema"] = None if request.mode == "prompted" else request.schema
        reply = await self._call(message, on_text)
        del reply["kind"]
        return ChatResult(**reply)

    async def count(self, messages: Sequence[Message]) -> int:
        """Exact: the model's own template and tokenizer."""
        reply = await self._call({"kind": "count", "messages": _plain(messages)})
        return int(reply["tokens"])

    async def context_tokens(self) -> int:
        """What the worker offers: as set, and no more than the model was trained for."""
        return await asyncio.to_thread(usable_context, self._path, self._launch.context_tokens)

    async def aclose(self) -> None:
        """Ends the worker unless another chat uses it."""
        await asyncio.to_thread(self._give_back)

    async def _call(
        self, message: dict[str, Any], on_text: Callable[[str], None] | None = None
    ) -> dict[str, Any]:
        if not self._give_back.alive:
            raise closed(self.spec)
        arrivals: asyncio.Queue[dict[str, Any] | ModelError] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def deliver(arrived: dict[str, Any] | ModelError) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed; nobody listens any more
                loop.call_soon_threadsafe(arrivals.put_nowait, arrived)

        job = Job(message, deliver)
        try:
            self._engine.submit(job)
            while True:
                arrived = await arrivals.get()
                if isinstance(arrived, ModelError):
                    raise arrived  # noqa: TRY301
                if arrived["kind"] != "text":
                    return arrived
                if on_text is not None:
                    on_text(arrived["text"])
        except BaseException:
            self._engine.abandon(job)
            raise


def _plain(messages: Sequence[Message]) -> list[dict[str, str]]:
    return [{"role": message.role, "content": message.content} for message in messages]


# One model's worker process and the line of calls that wait for it.


@dataclass(eq=False, slots=True)
class Job:
    """One call. `deliver` is called in the engine's thread or under its lock: it must not wait."""

    message: dict[str, Any]
    deliver: Callable[[dict[str, Any] | ModelError], None]
    is_abandoned: bool = False


class Engine:
    def __init__(self, launch: Launch) -> None:
        self.line: deque[Job] = deque()
        self.process: WorkerProcess | None = None
        self._launch = launch
        self._changed = threading.Condition()
        self._current: Job | None = None
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def submit(self, job: Job) -> None:
        with self._changed:
            if self._is_closed:
                raise closed(self._launch.spec)
            self.line.append(job)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, daemon=True)
                self._thread.start()
            self._changed.notify()

    def abandon(self, job: Job) -> None:
        """Nobody waits for it any more: it leaves the line, or the work on it is killed."""
        with self._changed:
            job.is_abandoned = True
            if job in self.line:
                self.line.remove(job)
            elif job is self._current and self.process is not None:
                self.process.kill()

    def close(self) -> None:
        """Ends the process, busy or not. Safe to call twice."""
        with self._changed:
            self._is_closed = True
            while self.line:
                self.line.popleft().deliver(closed(self._launch.spec))
            if self._current is not None and self.process is not None:
                self.process.kill()
            self._changed.notify()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(_JOIN_SECONDS)

    def _work(self) -> None:
        while (job := self._take()) is not None:
            outcome: dict[str, Any] | ModelError
            try:
                outcome = self._ready_process(job).converse(job.message, job.deliver)
            except ModelError as error:
                outcome = error
            except Exception as error:  # noqa: BLE001  # the next call gets a fresh process
                outcome = self._broken(error)
            with self._changed:
                self._current = None
            job.deliver(outcome)
        self._end_process()

    def _take(self) -> Job | None:
        with self._changed:
            self._changed.wait_for(lambda: self.line or self._is_closed)
            self._current = self.line.popleft() if self.line else None
            return self._current

    def _broken(self, error: Exception) -> ModelUnavailable:
        with self._changed:
            process, self.process = self.process, None
        if process is None:
            return ModelUnavailable(f"cannot start the model {self._launch.spec!r}: {error}")
        death = process.died()
        return closed(self._launch.spec) if self._is_closed else death

    def _ready_process(self, job: Job) -> WorkerProcess:
        process = self.process
        if process is not None and process.is_usable:
            return process
        self._end_process()
        # What is wrong with the file is said before a process is started.
        usable_context(Path(self._launch.path), self._launch.context_tokens)
        if find_spec("xllamacpp") is None:
            raise UnusableModel("GGUF files need the package xllamacpp", hint=INSTALL_HINT)
        with self._changed:  # so that whoever abandons the job finds the process to kill
            if job.is_abandoned or self._is_closed:
                raise closed(self._launch.spec)
            process = self.process = WorkerProcess(self._launch)
        try:
            process.converse(asdict(self._launch), lambda _: None)
        except ModelError:
            self._end_process()
            raise
        return process

    def _end_process(self) -> None:
        with self._changed:
            process, self.process = self.process, None
        if process is not None:
            process.end()


_registry = threading.RLock()  # a chat that is collected gives back wherever the collector runs
_engines: dict[Launch, Engine] = {}
_users: dict[Launch, int] = {}


def lease(launch: Launch) -> Engine:
    """The engine of this model in this process, shared by all who lease it."""
    with _registry:
        _users[launch] = _users.get(launch, 0) + 1
        return _engines.setdefault(launch, Engine(launch))


def give_back(launch: Launch) -> None:
    """The last one to give an engine back ends its process."""
    with _registry:
        _users[launch] -= 1
        if _users[launch]:
            return
        del _users[launch]
        engine = _engines.pop(launch)
    engine.close()


# A worker process as its owner sees it: started, spoken with, and ended.

_LEAVE_SECONDS = 2.0
_LOG_BYTES = 1 << 16
_GRAMMAR_ERROR = re.compile(r"llg error: (.*)")
_LOG_STAMP = re.compile(r"^[\d.]+ E +")


@dataclass(frozen=True, slots=True)
class Launch:
    """Which model a worker loads, and how. Equal ones share a worker."""

    path: str
    context_tokens: int
    threads: int

    @property
    def spec(self) -> str:
        return f"gguf:{self.path}"


class WorkerProcess:
    """Used by the one thread that started it; `kill` alone may come from any thread."""

    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        self._log: IO[bytes] = tempfile.TemporaryFile("a+b")  # noqa: SIM115 - closed by end()
        self._logged = 0  # where the log ended when the worker was last told something
        self._is_doomed = False
        # Threads that wait for each other spin by default: next to any other busy program the
        # model then becomes many times slower than on one thread.
        env = {"OMP_WAIT_POLICY": "PASSIVE", **os.environ}
        try:
            self._process = started("secondlook.models.gguf_worker", errors=self._log, env=env)
        except OSError:
            self._log.close()
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_usable(self) -> bool:
        return not self._is_doomed and self._process.poll() is None

    def converse(
        self, message: dict[str, Any], on_piece: Callable[[dict[str, Any]], None]
    ) -> dict[str, Any]:
        """The result; pieces of text are passed on as they come. EOFError when the worker died."""
        told, said = pipes_of(self._process)
        self._logged = self._log.seek(0, os.SEEK_END)
        send(told, message)
        while (reply := receive(said)).get("kind") == "text":
            on_piece(reply)
        spec = self._launch.spec
        if reply.get("kind") == "failed":
            if reply.get("reason") == "load":
                reply = {**reply, "why": self._complaint() or reply.get("why")}
            raise from_worker(spec, reply)
        # A grammar that llama.cpp cannot make leaves the model free, with a note in the log.
        if message.get("schema") is not None and (found := _GRAMMAR_ERROR.search(self._new_log())):
            raise from_worker(spec, {"reason": "schema", "why": found[1]})
        return reply

    def _complaint(self) -> str:
        """The first error that llama.cpp wrote down: those after it only repeat that it failed."""
        lines = self._new_log().splitlines()
        errors = [line for line in lines if _LOG_STAMP.match(line)] or lines[-1:]
        return _LOG_STAMP.sub("", errors[0]).strip() if errors else ""

    def _new_log(self) -> str:
        self._log.seek(self._logged)
        return self._log.read(_LOG_BYTES).decode("utf-8", "replace")

    def kill(self) -> None:
        self._is_doomed = True
        with contextlib.suppress(OSError):
            self._process.kill()

    def end(self) -> int:
        """Ends the process and says how it ended; one that ended by itself keeps its status."""
        status = ended(self._process, _LEAVE_SECONDS)
        self._log.close()
        return status

    def died(self) -> ModelUnavailable:
        """What its sudden end means to the caller that was waiting for it."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_LEAVE_SECONDS)
        complaint, status = self._complaint(), self.end()
        signals = {-one.value: one.name for one in signal.Signals}
        ending = signals.get(status, f"exit status {status}")
        hint = "It is started again with the next call."
        if ending == "SIGKILL":
            hint = f"Most likely the machine ran out of memory; try a smaller model. {hint}"
        told = f"the process of the model {self._launch.spec!r} died ({ending})"
        return ModelUnavailable(f"{told}: {complaint}" if complaint else told, hint=hint)


# The head of a GGUF file, read by ourselves: what the model is before anything loads it.

_SCALARS = {
    kind: struct.Struct(f"<{code}")
    for kind, code in {**dict(enumerate("BbHhIif?")), 10: "Q", 11: "q", 12: "d"}.items()
}
_STRING, _ARRAY = 8, 9
_KIND, _COUNT = _SCALARS[4], _SCALARS[10]
_CONTROL_TOKEN, _USER_DEFINED_TOKEN = 3, 4
_TOKENS, _TOKEN_KINDS = "tokenizer.ggml.tokens", "tokenizer.ggml.token_type"
_HINT = "Name a model file in the GGUF format, as in gguf:/models/name.gguf."


def usable_context(path: Path, wanted: int) -> int:
    """A model makes no sense of more than it was trained for, where its file says how much that
    is. Raises UnusableModel for what is no readable GGUF file."""
    # The vocabulary comes after it, and is long.
    trained = next((one for key, one in _entries(path) if key.endswith(".context_length")), None)
    return min(wanted, trained) if isinstance(trained, int) and trained > 0 else wanted


def control_marks(path: Path) -> tuple[str, ...]:
    """Strings that the model's tokenizer takes for its own control marks, such as `<|im_end|>`."""
    vocabulary = {key: value for key, value in _entries(path) if key in {_TOKENS, _TOKEN_KINDS}}
    marks = zip(vocabulary.get(_TOKENS, ()), vocabulary.get(_TOKEN_KINDS, ()), strict=False)

    def is_mark(text: str, kind: int) -> bool:
        # Tokens that makers of models define are often plain text, such as HTML tags or spaces.
        own = kind == _USER_DEFINED_TOKEN and text.startswith("<|")
        return len(text) > 1 and (kind == _CONTROL_TOKEN or own)

    return tuple(text for text, kind in marks if is_mark(text, kind))


def _entries(path: Path) -> Iterator[tuple[str, Any]]:
    try:
        with path.open("rb") as stream:
            if (magic := stream.read(4)) != b"GGUF":
                raise ValueError(f"it starts with {magic!r} instead of b'GGUF'")  # noqa: TRY301
            if (version := _number(stream, _KIND)) not in {2, 3}:
                raise ValueError(f"version {version} of the format is not supported")  # noqa: TRY301
            _number(stream, _COUNT)  # how many tensors
            for _ in range(_number(stream, _COUNT)):
                key = _text(stream, 1 << 16)
                yield key, _value(stream, _number(stream, _KIND))
    except OSError as error:
        why = error.strerror or error
        said = f"cannot read the model file {str(path)!r}: {why}"
        raise UnusableModel(said, hint=_HINT) from error
    except (struct.error, ValueError, MemoryError, OverflowError) as error:
        raise UnusableModel(f"{str(path)!r} is no usable GGUF file: {error}", hint=_HINT) from error


def _number(stream: IO[bytes], form: struct.Struct) -> Any:
    return form.unpack(stream.read(form.size))[0]


def _text(stream: IO[bytes], limit: int = 1 << 26) -> str:
    length = _number(stream, _COUNT)
    if length > limit:
        raise ValueError(f"it claims a text of {length} bytes")
    return _whole(stream, length).decode("utf-8", "replace")


def _whole(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise ValueError("it is cut short")
    return data


def _value(stream: IO[bytes], kind: int) -> Any:
    if kind == _STRING:
        return _text(stream)
    if kind == _ARRAY:
        inner, count = _number(stream, _KIND), _number(stream, _COUNT)
        if inner not in _SCALARS:
            return tuple(_value(stream, inner) for _ in range(count))
        form = _SCALARS[inner]
        return tuple(value for (value,) in form.iter_unpack(_whole(stream, form.size * count)))
    if kind not in _SCALARS:
        raise ValueError(f"it holds a value of unknown kind {kind}")
    return _number(stream, _SCALARS[kind])


# What can go wrong with a local model, in words for the person who configured it.

INSTALL_HINT = "Install it with: pip install xllamacpp"


class UnusableModel(ModelUnavailable):
    """The file or the engine is missing or unfit: another try would end the same way."""

    retryable = False


def closed(spec: str) -> ModelUnavailable:
    return ModelUnavailable(f"the model {spec!r} was closed")


def from_worker(spec: str, message: dict[str, Any]) -> ModelError:
    """The worker lives and says why it could not do what it was told."""
    why = str(message.get("why", "no reason given"))
    match message.get("reason"):
        case "overflow":
            hint = "Use a model with a larger context, or less evidence (answer.k)."
            return ContextOverflow(f"the prompt does not fit into {spec!r}: {why}", hint=hint)
        case "schema":
            return UnusableReply(f"the model {spec!r} cannot be held to this JSON schema: {why}")
        case "engine":
            return UnusableModel(f"the GGUF engine is unusable: {why}", hint=INSTALL_HINT)
        case "load":
            hint = "Fetch the file again, or try another model."
            return UnusableModel(f"the model {spec!r} could not be loaded: {why}", hint=hint)
    return ModelError(f"the model {spec!r} refused the request: {why}")
