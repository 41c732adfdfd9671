"""How the server is reached, and how much it takes on. A folder's own file sets none of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from secondlook.settings.section import Section

DEFAULT_LIBRARY = "default"
"""What the library that the server was started with is called in addresses."""
_LIBRARY_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_ORIGIN = re.compile(r"https?://[^\s/]+")


class ServeSettings(Section):
    host: str = Field(
        default="127.0.0.1",
        min_length=1,
        description="Address that the server listens on; any but this machine's own needs a token.",
    )
    port: int = Field(
        default=8765, ge=0, le=65535, description="Port that it listens on; 0 = one that is free."
    )
    token_env: str = Field(
        default="SECONDLOOK_TOKEN",
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*$",
        description="Name of the environment variable that holds the token; never the token.",
    )
    libraries: tuple[str, ...] = Field(
        default=(),
        strict=False,
        description="Further libraries to serve, `name=path`; paths are absolute or begin with ~.",
    )
    roots: tuple[str, ...] = Field(
        default=(),
        strict=False,
        description="Folders whose files a client may have added by path; none = uploads alone.",
    )
    hosts: tuple[str, ...] = Field(
        default=(),
        strict=False,
        description="Further names that the server may be called by, such as those of a proxy.",
    )
    origins: tuple[str, ...] = Field(
        default=(),
        strict=False,
        description="Further origins whose requests are taken, such as `https://papers.example`.",
    )
    concurrency: int = Field(
        default=0, ge=0, description="Questions worked on at once; 0 = as many as cores."
    )
    queue: int = Field(
        default=100, ge=0, description="Questions that may wait; one more is refused (429)."
    )
    drain_seconds: float = Field(
        default=20.0,
        ge=0,
        description="Told to end (SIGTERM), seconds for each question to finish the step it is at.",
    )
    max_upload_mb: int = Field(
        default=200, ge=1, le=100_000, description="Megabytes that one upload may have in all."
    )
    files_per_upload: int = Field(default=50, ge=1, description="Files that one upload may have.")
    question_characters: int = Field(
        default=4000, ge=1, description="Characters that a question may have."
    )
    metrics: bool = Field(
        default=False, description="Serve /metrics for Prometheus; needs the extra `telemetry`."
    )

    @model_validator(mode="after")
    def _are_of_the_right_form(self) -> Self:
        for given in self.libraries:
            name, equals, path = given.partition("=")
            if not equals or not _LIBRARY_NAME.fullmatch(name) or name == DEFAULT_LIBRARY:
                raise ValueError(
                    f"serve.libraries has {given!r}, which is not of the form name=path with a "
                    f"name of small letters, digits, - and _ (and not {DEFAULT_LIBRARY!r})"
                )
            _absolute("serve.libraries", path)
        for given in self.roots:
            _absolute("serve.roots", given)
        for given in self.origins:
            if not _ORIGIN.fullmatch(given):
                raise ValueError(
                    f"serve.origins has {given!r}, which is no origin such as https://papers.example"
                )
        return self

    @property
    def library_paths(self) -> dict[str, Path]:
        """The further libraries by name."""
        pairs = (given.partition("=") for given in self.libraries)
        return {name: Path(path).expanduser() for name, _, path in pairs}

    @property
    def root_paths(self) -> tuple[Path, ...]:
        return tuple(Path(given).expanduser() for given in self.roots)


def _absolute(key: str, path: str) -> None:
    # A server's working folder is an accident: nothing may depend on it.
    if not (path.startswith(("~", "s3://")) or Path(path).is_absolute()):
        raise ValueError(f"{key} has {path!r}, which is neither absolute nor begins with ~")
