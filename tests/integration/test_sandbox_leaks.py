"""Nothing of a job outlives it: no process, no file, no descriptor, also where a server is killed.
`make soak` runs five hundred jobs where `make test` runs a few."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil  # type: ignore[import-untyped,unused-ignore]
import pytest

from secondlook.sandbox import open_sandbox
from secondlook.sandbox.port import Limits, Outcome, Sandbox
from secondlook.sandbox.self_check import descendants, end, left_over, orphans_come_to_us
from tests.support.sandbox import chosen_backends, sales
from tests.support.unprivileged import environment

SOAK = bool(os.environ.get("SECONDLOOK_SOAK"))
BACKENDS = chosen_backends()
LIMITS = Limits(seconds=60.0, resident=400 << 20)
CODES = (
    ("result = df['count'].sum()", "ok"),
    ("open('left', 'w').write('x'); result = 1", None),  # `plain` has no place to write to
    ("raise ValueError('no')", "error"),
    ("import os; os._exit(3)", "crashed"),
    ("import ctypes; ctypes.string_at(0)", "crashed"),
)
HOLDS = "print('here', flush=True)\nimport time\ntime.sleep(600)"
PROGRAM = """
import sys
from secondlook.sandbox import Limits, open_sandbox
sandbox = open_sandbox(sys.argv[1], limits=Limits(seconds=60))
sandbox.run("result = 1")
print("ready", flush=True)
sandbox.run("import time\\ntime.sleep(600)")
"""


@pytest.fixture(scope="module", params=BACKENDS)
def sandbox(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Sandbox]:
    """Shared by the tests of a backend, the last of which closes it."""
    before = descendants()
    with pytest.MonkeyPatch.context() as patched, orphans_come_to_us():
        # Where temporary files would go, so that those of others are not taken for ours.
        patched.setattr("tempfile.tempdir", str(tmp_path_factory.mktemp("temporary")))
        with contextlib.closing(open_sandbox(request.param, limits=LIMITS)) as opened:
            yield opened
        assert left_over(before, within=30.0) == set()


def open_descriptors(pids: set[int]) -> dict[int, int]:
    return {pid: len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in pids}


def settled() -> set[int]:
    """Processes below ours once those of ended jobs are gone."""
    before: set[int] = set()
    while before != (now := descendants()):
        before = now
        threading.Event().wait(0.5)
    return now


def test_many_jobs_leave_nothing(sandbox: Sandbox, tmp_path: Path) -> None:
    table = sales(tmp_path)
    assert sandbox.run("result = df['count'].sum()", [table]).status == "ok"
    servers = settled()
    before = open_descriptors({os.getpid(), *servers})
    for number in range(500 if SOAK else 20):
        code, status = CODES[number % len(CODES)]
        outcome = sandbox.run(code, [table])
        assert status in (None, outcome.status), outcome
    assert left_over(servers) == set()

    def is_back() -> bool:
        """A connection of a test before this one may be closed meanwhile."""
        after = open_descriptors({os.getpid(), *servers})
        return all(count <= before[pid] for pid, count in after.items())

    wait_for(is_back, seconds=10.0)
    assert list(Path(tempfile.gettempdir()).iterdir()) == []


def started(sandbox: Sandbox) -> tuple[threading.Thread, list[Outcome]]:
    """A job that would run for ten minutes, once it does."""
    before = descendants()
    outcomes: list[Outcome] = []
    thread = threading.Thread(target=lambda: outcomes.append(sandbox.run(HOLDS)))
    thread.start()
    wait_for(lambda: bool(_sleeping(descendants() - before)))
    return thread, outcomes


def _sleeping(pids: set[int]) -> set[int]:
    """Those of them that have begun to run the code: nothing else of ours sleeps so."""
    found = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            if "nanosleep" in Path(f"/proc/{pid}/wchan").read_text("ascii"):
                found.add(pid)
    return found


def wait_for(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not happen in time"
        threading.Event().wait(0.05)


def test_killing_what_runs_a_job_ends_the_job(sandbox: Sandbox) -> None:
    """The server of jobs dies as suddenly as a process can."""
    sandbox.run("result = 1")
    thread, outcomes = started(sandbox)
    alive = descendants()
    for child in psutil.Process().children():
        os.kill(child.pid, signal.SIGKILL)
    thread.join(60)
    assert outcomes[0].status == "crashed"
    wait_for(lambda: not alive & descendants())
    assert sandbox.run("result = 6 * 7").result == 42


def test_closing_ends_what_runs(sandbox: Sandbox) -> None:
    sandbox.run("result = 1")
    thread, outcomes = started(sandbox)
    sandbox.close()
    thread.join(60)
    assert outcomes[0].status == "crashed"


@pytest.mark.parametrize("backend", BACKENDS)
def test_nothing_outlives_a_program_that_is_killed(backend: str) -> None:
    ours = descendants()
    with orphans_come_to_us():
        program = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, backend], stdout=subprocess.PIPE, env=environment()
        )
        with program:
            assert program.stdout is not None
            assert program.stdout.readline() == b"ready\n"
            wait_for(lambda: bool(_sleeping(descendants() - ours)))
            program.kill()
        stayed = left_over(ours, within=30.0)
        end(stayed)
    assert stayed == set()
