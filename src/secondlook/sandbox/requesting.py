"""A job's request, and its tables as open files: what every backend hands over."""

from __future__ import annotations

import os
import secrets
from contextlib import contextmanager
from typing import TYPE_CHECKING

from secondlook.errors import SandboxError, UsageError
from secondlook.sandbox.protocol import Request

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from secondlook.sandbox.port import Limits, Supplied, Variation

MOST_TABLES = 200
_MOST_CODE = 10_000_000


def new_request(
    code: str,
    tables: Sequence[Supplied],
    *,
    limits: Limits,
    vary: Variation | None,
    seed: int,
) -> Request:
    names = tuple(table.name for table in tables)
    if len(names) > MOST_TABLES:
        raise UsageError(
            f"{len(names)} tables are more than the {MOST_TABLES} that a job can hold."
        )
    if len(set(names)) < len(names):
        raise UsageError(f"Two tables have the same name: {sorted(names)!r}.")
    if len(code) > _MOST_CODE:
        raise UsageError(f"Code of {len(code)} characters is longer than {_MOST_CODE}.")
    return Request(code, names, limits, vary, seed, token=secrets.token_hex(16))


@contextmanager
def opened(tables: Sequence[Supplied]) -> Iterator[list[int]]:
    """Descriptors that can be read and nothing else, in the order of the tables."""
    descriptors: list[int] = []
    try:
        descriptors.extend(_open(table) for table in tables)  # as far as it gets: all are closed
        yield descriptors
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def request_file(request: Request) -> int:
    """The request in memory, as a descriptor to be read from its start."""
    descriptor = os.memfd_create("request", os.MFD_CLOEXEC)
    view = memoryview(request.encoded())
    while view:
        view = view[os.write(descriptor, view) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _open(table: Supplied) -> int:
    try:
        return os.open(table.file, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise SandboxError(
            f"The table {table.name!r} cannot be opened ({error.strerror}: {str(table.file)!r})."
        ) from error
