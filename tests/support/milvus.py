"""A Milvus server for tests: the vendor's own gRPC implementation, on loopback, in a process that
ends with the one that asked for it."""

import atexit
import functools
import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ADDRESS = "TEST_MILVUS_ADDRESS"
"""Environment variable with the address, so that processes of a test share one server. Not one of
ours: the settings of whoever runs the tests are kept from them."""
_ROOT = Path(__file__).parents[2]


def address() -> str:
    return os.environ.get(ADDRESS) or _started()[0]


def folder() -> Path:
    """Where the server that this process started keeps its files."""
    return _started()[1]


def name_for(path: Path) -> str:
    """An index of its own for each folder of a test."""
    return f"test_{hashlib.sha256(str(path).encode()).hexdigest()[:20]}"


@functools.cache
def _started() -> tuple[str, Path]:
    scratch = tempfile.TemporaryDirectory(prefix="milvus-")
    process = _server(scratch.name)
    atexit.register(scratch.cleanup)
    atexit.register(_stop, process)
    assert process.stdout is not None
    found = process.stdout.readline().strip()
    assert found, "the Milvus server did not start"
    os.environ[ADDRESS] = found
    return found, Path(scratch.name)


def _server(data: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.support.milvus", data],
        cwd=_ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def _stop(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    process.wait()
    process.stdout.close()


def serve(data: str) -> None:
    """Until nobody holds the other end of our standard input any more."""
    from milvus_lite.adapter.grpc.server import start_server_in_thread

    server, database, port = start_server_in_thread(data)
    print(f"http://127.0.0.1:{port}", flush=True)  # noqa: T201 - the parent process reads it
    sys.stdin.read()
    server.stop(grace=0).wait()
    database.close()


if __name__ == "__main__":
    serve(sys.argv[1])
