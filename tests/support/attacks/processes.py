"""Attacks on other processes, and attempts to become more than one."""

from __future__ import annotations

from secondlook.sandbox.self_check import Attack

_CLONE3 = """
import ctypes, os, signal

asked = (ctypes.c_uint64 * 11)(0, 0, 0, 0, signal.SIGCHLD)
child = syscall("clone3", ctypes.byref(asked), 88)
if child == 0:
    os._exit(0)
reached("forked by clone3")
os.waitpid(child, 0)
"""
_DAEMON = """
import os, time

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in range(1024):
            try:
                os.close(number)
            except OSError:
                pass
        time.sleep(world["daemon_seconds"])
    os._exit(0)
reached("left a process behind")
"""
_VM_READ = """
import ctypes, os

buffer = ctypes.create_string_buffer(64)
ours = (ctypes.c_uint64 * 2)(ctypes.addressof(buffer), 64)
theirs = (ctypes.c_uint64 * 2)(world["victim_address"], 64)
syscall("process_vm_readv", world["victim"], ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0)
result = buffer.raw.decode("latin-1")
"""
_PIDFD = """
import os

process = syscall("pidfd_open", world["victim"], 0)
number = syscall("pidfd_getfd", process, world["victim_descriptor"], 0)
result = os.pread(number, 4096, 0).decode()
"""
_KILL_OTHERWISE = """
import os, signal

attempt("tgkill", lambda: syscall("tgkill", world["victim"], world["victim"], 9))

def by_descriptor():
    signal.pidfd_send_signal(os.pidfd_open(world["victim"]), signal.SIGKILL)

attempt("signalled by descriptor", by_descriptor)
attempt("signalled a group", lambda: os.killpg(os.getpgid(world["victim"]), 0))
"""
_KILL_BY_INPUT = """
import fcntl, os, signal

reading, writing = os.pipe()
fcntl.fcntl(reading, fcntl.F_SETOWN, world["victim"])
fcntl.fcntl(reading, 10, signal.SIGKILL)
fcntl.fcntl(reading, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
os.write(writing, b"now")
"""
_PRIORITY = """
import os

attempt("took real time", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50)))
attempt("raised its priority", lambda: os.setpriority(os.PRIO_PROCESS, 0, -10))
attempt("slowed another", lambda: os.setpriority(os.PRIO_PROCESS, world["victim"], 19))
"""
_TERMINAL = """
import fcntl, os, termios

for number in (0, 1, 2):
    attempt("typed into a terminal", lambda: fcntl.ioctl(number, termios.TIOCSTI, b"x"))
attempt("opened the terminal", lambda: os.close(os.open("/dev/tty", os.O_RDWR)))
"""

PROCESSES = (
    Attack("clone3", _CLONE3),
    Attack("daemon", _DAEMON, sizes={"daemon_seconds": 600}),
    Attack("memory of another", _VM_READ),
    Attack("descriptor of another", _PIDFD),
    Attack("kill otherwise", _KILL_OTHERWISE),
    Attack("kill by input", _KILL_BY_INPUT),
    Attack("priority", _PRIORITY, provable=False),
    Attack("terminal", _TERMINAL, provable=False),
)
