"""The opposite of a sandbox: a script in an ordinary process. It shows that an attack can succeed,
so that a sandbox which blocks it has done something. For attacks that are harmless alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from secondlook.sandbox.port import Failure, Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.sandbox.port import Limits, Supplied

_RUN = """
import json, os, sys
found = {"tables": {}}
numbers = [os.open(place, os.O_RDWR) for place in sys.argv[2:]]
try:
    exec(compile(sys.stdin.read(), "script", "exec"), found)
    reply = {"result": found.get("result")}
except BaseException as error:
    reply = {"failure": [type(error).__name__, str(error)]}
with open(sys.argv[1], "w") as file:
    json.dump(reply, file, default=str)
"""


class Unconfined:
    """`Sandbox`, but for everything that one is for."""

    name = "unconfined"

    def run(
        self, code: str, tables: Sequence[Supplied] = (), *, limits: Limits | None = None
    ) -> Outcome:
        with tempfile.TemporaryDirectory() as folder:
            reply = Path(folder) / "reply"
            done = subprocess.run(
                [sys.executable, "-c", _RUN, reply, *(table.file for table in tables)],
                input=code,
                capture_output=True,
                text=True,
                cwd=folder,
                close_fds=False,
                env=dict(os.environ),
                timeout=60,
                check=False,
            )
            said = json.loads(reply.read_text("utf-8")) if reply.exists() else {}
        failure = Failure(*said["failure"]) if "failure" in said else None
        status = "crashed" if not said else "error" if failure else "ok"
        return Outcome(
            status,  # type: ignore[arg-type]
            result=said.get("result"),
            failure=failure,
            stdout=done.stdout,
        )

    def close(self) -> None:
        pass
