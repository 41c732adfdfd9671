"""One job, in a process of its own that gives up its rights, runs the code, replies and ends."""

from __future__ import annotations

import contextlib
import io
import os
import random
import sys
import traceback
import types
from typing import TYPE_CHECKING, Any, NoReturn

from secondlook.sandbox.inside.collecting import collect
from secondlook.sandbox.inside.figures import drawn
from secondlook.sandbox.inside.loading import load
from secondlook.sandbox.inside.preload import bindings
from secondlook.sandbox.inside.varying import varied
from secondlook.sandbox.protocol import CODE_NAME, Request, encode_reply

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from secondlook.sandbox.port import Limits

_MOST_MESSAGE = 4_000
_ENVIRONMENT = ("PATH", "LANG", "TZ", "MPLBACKEND", "JOBLIB_MULTIPROCESSING")


def serve(
    request_file: int,
    reply_file: int,
    table_files: Sequence[int],
    confine: Callable[[Limits], None],
) -> NoReturn:
    """Never returns: the process ends with the job. Standard output already leads to the reader."""
    code = 1
    try:
        request = Request.decoded(_read_whole(request_file))
        try:
            confine(request.limits)
        except Exception as error:
            _send(reply_file, _encoded(request, _not_confined(error), []))
            raise
        reply = answered(request, table_files)
        _end_output()
        _send(reply_file, reply)
        code = 0
    finally:
        os._exit(code)


def answered(request: Request, table_files: Sequence[int]) -> bytes:
    """Loads, runs, collects: the whole reply, whatever the code does."""
    try:
        document, figures = _carried_out(request, table_files)
        reply = _encoded(request, document, figures)
    except BaseException as error:  # noqa: BLE001 - code may raise anything, also at the very end
        return _encoded(request, _failed(error, request.code), [])
    if len(reply) > request.limits.reply_bytes:
        problem = {
            "status": "output",
            "failure": {
                "kind": "OutputLimit",
                "message": f"What the code left is larger than {request.limits.reply_bytes} bytes.",
            },
        }
        return _encoded(request, problem, [])
    return reply


def _carried_out(
    request: Request, table_files: Sequence[int]
) -> tuple[dict[str, Any], list[tuple[str, bytes]]]:
    names = _names(request, table_files)
    _run(request.code, names)
    has_result = "result" in names
    collected = collect(names.get("result"), request.limits.frame_rows) if has_result else {}
    return {"status": "ok", "has_result": has_result, **collected}, drawn(names)


def _names(request: Request, table_files: Sequence[int]) -> dict[str, Any]:
    import numpy as np

    tables = {}
    for position, (name, file) in enumerate(zip(request.tables, table_files, strict=True)):
        table = load(file)
        if request.vary is not None:
            table = varied(table, request.vary, request.seed + position)
        tables[name] = table
    random.seed(0)  # code that draws at random gives the same again
    np.random.seed(0)  # noqa: NPY002 - the one that the code will use
    names: dict[str, Any] = {**bindings(request.code), "tables": tables, "datasets": tables}
    if len(tables) == 1:
        names["df"] = next(iter(tables.values()))
    return names


def _run(code: str, names: dict[str, Any]) -> None:
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module  # so that classes of the code find their home
    module.__dict__.update(names)
    try:
        exec(compile(code, CODE_NAME, "exec", dont_inherit=True), module.__dict__)  # noqa: S102
    except SystemExit as ended:
        if ended.code not in (None, 0):
            raise
    finally:
        names.clear()
        names.update(module.__dict__)


def _failed(error: BaseException, code: str) -> dict[str, Any]:
    line = _line(error)
    lines = code.splitlines()
    return {
        "status": "memory" if isinstance(error, MemoryError) else "error",
        "failure": {
            "kind": type(error).__name__,
            "message": _message(error)[:_MOST_MESSAGE],
            "line": line,
            "code": lines[line - 1] if line is not None and 0 < line <= len(lines) else None,
        },
    }


def _message(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return error.msg
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - a class of the code's own may do anything here
        return f"<{type(error).__name__}>"


def _not_confined(error: Exception) -> dict[str, Any]:
    message = f"The job could not give up its rights, so the code was not run ({error})."
    return {"status": "crashed", "failure": {"kind": "NotConfined", "message": message}}


def _line(error: BaseException) -> int | None:
    """The last line of the code itself on the way to the error, not one of a library."""
    if isinstance(error, SyntaxError) and error.filename == CODE_NAME:
        return error.lineno
    line = None
    for frame, number in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename == CODE_NAME:
            line = number
    return line


def _encoded(
    request: Request, document: dict[str, Any], figures: Sequence[tuple[str, bytes]]
) -> bytes:
    kinds = [kind for kind, _ in figures]
    whole = {**document, "token": request.token, "memory": _most_memory(), "figures": kinds}
    return encode_reply(whole, [content for _, content in figures])


def _most_memory() -> int:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def prepare_streams(output_file: int) -> None:
    """What the code prints goes to our reader, its warnings nowhere."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 2):
        os.dup2(nothing, number)
    os.dup2(output_file, 1)
    raw = io.FileIO(1, "w", closefd=False)
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(raw), "utf-8", errors="replace", line_buffering=True
    )


def _end_output() -> None:
    """Before the reply: the reader then need not wait until the kernel has cleared us away."""
    with contextlib.suppress(Exception):  # the code may have put anything in its place
        sys.stdout.flush()
    with contextlib.suppress(OSError):
        os.close(1)


def clean_environment(scratch: str | None) -> None:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in _ENVIRONMENT or name.endswith("_THREADS")  # there are none to be had
    }
    os.environ.clear()
    os.environ.update(kept, HOME=scratch or "/", TMPDIR=scratch or "/")


def _read_whole(file: int) -> bytes:
    parts = []
    while part := os.read(file, 1 << 20):
        parts.append(part)
    os.close(file)
    return b"".join(parts)


def _send(file: int, reply: bytes) -> None:
    view = memoryview(reply)
    while view:
        view = view[os.write(file, view) :]
    os.close(file)
