"""Whether the process that writes a run still lives."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from secondlook.engine.ownership import SILENT_TOO_LONG, Process, pid_exists


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


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells states")
def test_a_process_that_nobody_waited_for_does_not() -> None:
    writer = "from secondlook.engine.ownership import Process; print(Process.current())"
    child = subprocess.Popen([sys.executable, "-c", writer], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    said = child.stdout.read()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    began = said.partition("began='")[2].partition("'")[0]
    assert not replace(Process.current(), pid=child.pid, began=began).lives(heard=time.time())
    child.stdout.close()
    child.wait()


def test_another_machine_is_believed_while_it_gives_signs_of_life() -> None:
    away = replace(Process.current(), host="elsewhere")
    assert away.lives(heard=time.time())
    assert not away.lives(heard=time.time() - SILENT_TOO_LONG)
    assert away.lives(heard=5.0, now=SILENT_TOO_LONG)
    assert not away.lives(heard=5.0, now=5.0 + SILENT_TOO_LONG)
