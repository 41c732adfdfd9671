"""Whether the process that writes a run still lives."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace

import pytest

from secondlook.engine.ownership import Process, pid_exists


def test_a_process_that_ended_does_not() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert child.stdin is not None
    assert pid_exists(child.pid)
    child.stdin.close()
    child.wait()
    assert not pid_exists(child.pid)
    assert not replace(Process.current(), pid=child.pid, began=None).lives(heard=time.time())


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells start times")
def test_a_pid_that_was_given_to_another_does_not() -> None:
    current = Process.current()
    assert current.began is not None
    assert not replace(current, began="another-boot 12345").lives(heard=time.time())
