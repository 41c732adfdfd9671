"""What a sandbox is: code and tables go in, plain data comes out, whatever the code tries. The code
finds its tables as `tables["name"]` (also called `datasets`; `df` where there is one), and leaves
its value in `result` and its charts in `fig`. Nothing that comes back is ever evaluated or
unpickled: it is JSON that we read within bounds."""

from __future__ import annotations

import importlib.util
import json
import struct
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

Plain: TypeAlias = "bool | int | float | str | list[Plain] | dict[str, Plain] | None"
"""A value that has left the sandbox. Dates are ISO strings; NaN and infinities are floats."""

Status = Literal["ok", "error", "timeout", "memory", "output", "crashed"]
"""`error`: the code raised. `output`: it said more than allowed. `crashed`: it died otherwise, for
example because it tried what is not allowed."""


@dataclass(frozen=True, slots=True)
class Limits:
    seconds: float = 30.0
    address_space: int = 2_684_354_560
    resident: int = 1_073_741_824  # memory that it may really use
    scratch_bytes: int = 67_108_864
    scratch_files: int = 1_000
    stdout_bytes: int = 65_536  # what is kept of what it prints; more is cut off
    reply_bytes: int = 33_554_432
    open_files: int = 64
    frame_rows: int = 1_000  # rows of a frame in `result` that come back


@dataclass(frozen=True, slots=True)
class Supplied:
    """A table for the code: a Parquet file, given to it as an open descriptor."""

    name: str
    file: Path


@dataclass(frozen=True, slots=True)
class Frame:
    columns: tuple[str, ...]
    rows: tuple[tuple[Plain, ...], ...]
    total_rows: int  # it may have more than came back


@dataclass(frozen=True, slots=True)
class Figure:
    kind: Literal["plotly", "png"]
    data: str  # Plotly's JSON, or a PNG in base64


@dataclass(frozen=True, slots=True)
class Failure:
    kind: str  # class of the exception, or what ended the job
    message: str
    line: int | None = None  # of the code, from 1
    code: str | None = None  # that line


@dataclass(frozen=True, slots=True)
class Outcome:
    status: Status
    result: Plain = None  # None also for a frame, which is in `frame`; else plain, or text
    has_result: bool = False  # whether the code bound `result`
    frame: Frame | None = None
    figures: tuple[Figure, ...] = ()
    stdout: str = ""
    stdout_cut: bool = False
    failure: Failure | None = None
    seconds: float = 0.0
    memory: int = 0  # most bytes resident
    frames: dict[str, Frame] = field(default_factory=dict)  # those of a mapping's values


@dataclass(frozen=True, slots=True)
class Verdict:
    name: str
    usable: bool
    why: str  # what it relies on here, or what is missing


class Sandbox(Protocol):
    """One backend. Threads may share it; jobs never see one another."""

    @property
    def name(self) -> str:
        """As `sandbox.backend` names it."""

    def run(
        self, code: str, tables: Sequence[Supplied] = (), *, limits: Limits | None = None
    ) -> Outcome:
        """Never raises for what the code does. Raises SandboxError where no job can be run."""

    def close(self) -> None: ...


_ADDRESSES_BESIDE_MEMORY = 1_610_612_736  # what the libraries map without using it, and room


def limits_for(*, seconds: float, megabytes: int) -> Limits:
    resident = megabytes << 20
    addresses = resident + _ADDRESSES_BESIDE_MEMORY
    return Limits(seconds=seconds, resident=resident, address_space=addresses)


def outcome_from(data: Mapping[str, Any]) -> Outcome:
    def frame(one: Mapping[str, Any]) -> Frame:
        rows = tuple(tuple(row) for row in one["rows"])
        return Frame(columns=tuple(one["columns"]), rows=rows, total_rows=one["total_rows"])

    read = {
        "frame": None if data["frame"] is None else frame(data["frame"]),
        "figures": tuple(Figure(**figure) for figure in data["figures"]),
        "failure": None if data["failure"] is None else Failure(**data["failure"]),
        "frames": {name: frame(one) for name, one in data["frames"].items()},
    }
    return Outcome(**{**data, **read})


# Whether this machine can confine code, found out by doing it to a small process.

PACKAGES = ("pandas", "pyarrow", "scipy", "sklearn", "statsmodels", "plotly", "matplotlib")
"""Distributions of the extra `analyst`, by the name that is imported."""
_TRIAL_SECONDS = 120.0  # a cold disk under load; a second otherwise


def missing_packages() -> str:
    """What jobs import and is not there, and how to get it; empty where all is."""
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if not missing:
        return ""
    needed = " ".join(missing).replace("sklearn", "scikit-learn")
    return f"not installed: {', '.join(missing)}; pip install {needed}"


def trial(command: Sequence[str]) -> str:
    """What a process says that confines itself as a job would; empty where it could."""
    try:
        tried = subprocess.run(  # noqa: S603 - our own interpreter and code
            command,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_TRIAL_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"it could not be tried ({error})"
    if tried.returncode == 0:
        return ""
    lines = tried.stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else f"the trial ended with {tried.returncode}"


# What passes between the program and a job: a request in, one reply out, both plain data.

LENGTH = struct.Struct(">Q")
CODE_NAME = "<analysis>"  # the file that tracebacks name for the code
MOST_FIGURES = 20


@dataclass(frozen=True, slots=True)
class Request:
    code: str
    tables: tuple[str, ...]  # their names; the descriptors come beside the request, in this order
    limits: Limits
    token: str  # a reply without it was not made by us

    def encoded(self) -> bytes:
        return json.dumps(asdict(self)).encode("ascii")

    @classmethod
    def decoded(cls, data: bytes) -> Request:
        fields: dict[str, Any] = json.loads(data)
        limits = Limits(**fields.pop("limits"))
        return cls(tables=tuple(fields.pop("tables")), limits=limits, **fields)


def encode_reply(document: dict[str, Any], attachments: Sequence[bytes]) -> bytes:
    """Each part after its length: first the document, then the figures in its order."""
    # Digits enough to give the same float again; NaN and infinities under their own names.
    first = json.dumps(document, ensure_ascii=True, allow_nan=True).encode("ascii")
    return b"".join(LENGTH.pack(len(part)) + part for part in (first, *attachments))
