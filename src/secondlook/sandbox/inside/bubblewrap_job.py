"""A job within bubblewrap: imports what it needs, gives up its rights, runs the code and ends."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import replace

from secondlook.sandbox import kernel, seccomp
from secondlook.sandbox.inside.job import clean_environment, prepare_streams, serve
from secondlook.sandbox.inside.preload import bindings, keep_polars_out
from secondlook.sandbox.inside.server import close_all_but
from secondlook.sandbox.kernel import SCRATCH
from secondlook.sandbox.port import READY, Limits, Request
from secondlook.sandbox.seccomp import limit_resources


def main(numbers: str) -> None:
    """Started by `bwrap`; the numbers are those of request, reply, output, ready and tables."""
    request, reply, output, ready, *tables = map(int, numbers.split(","))
    try:
        _prepare(request)
        os.write(ready, READY)
        prepare_streams(output)
        close_all_but((0, 1, 2, request, reply, *tables))
        clean_environment(SCRATCH)
        serve(request, reply, tables, confine)
    finally:
        os._exit(1)


def confine(limits: Limits) -> None:
    """This process, for the rest of its life. Any step that fails raises, and no code must run."""
    options = f"size={limits.scratch_bytes},nr_inodes={limits.scratch_files}"
    flags = kernel.MS_REMOUNT | kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC
    kernel.mount("tmpfs", SCRATCH, "tmpfs", flags, options)
    kernel.drop_capabilities()
    kernel.forbid_new_privileges()
    seccomp.restrict_to_own_root()
    # What the imports took is not the code's.
    limit_resources(replace(limits, seconds=limits.seconds + time.process_time()))
    seccomp.install(seccomp.program(may_write=True))


def give_up_all_rights() -> None:
    """For a trial: takes every step that a job takes, and checks that they hold."""
    import socket

    confine(Limits())
    try:
        socket.socket(socket.AF_INET)
    except PermissionError:
        os._exit(0)
    sys.exit("a socket could still be opened")


def _prepare(request: int) -> None:
    """All that the code will need: its clock starts after this."""
    keep_polars_out()
    import pandas  # noqa: F401, ICN001
    import pyarrow.parquet  # noqa: F401

    content = os.pread(request, os.fstat(request).st_size, 0)  # it is read again, from its start
    bindings(Request.decoded(content).code)
