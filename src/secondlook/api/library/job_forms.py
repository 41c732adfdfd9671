"""What a client is told of work on a library."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict  # noqa: TC002  # of a value that is made here

JobStatus = Literal["queued", "running", "done", "failed", "stopped"]
FileStatus = Literal["waiting", "indexing", "ready", "failed", "unchanged"]
Stage = Literal["waiting", "looking", "reading", "tables", "indexing", "finishing"]
ENDED: Final[frozenset[JobStatus]] = frozenset({"done", "failed", "stopped"})
_FILE: Final[JsonDict] = {
    "name": "report.pdf",
    "status": "ready",
    "share": 1.0,
    "reason": None,
    "document": "9f86d081884c7d65",
}


class JobFile(BaseModel):
    name: str = Field(description="As it is stored; a client's own name may have been changed.")
    status: FileStatus
    share: float = Field(default=0.0, ge=0, le=1, description="How much of it is done.")
    reason: str | None = Field(default=None, description="Why it failed, or what is notable.")
    document: str | None = Field(default=None, description="The document that came of it.")


class Job(BaseModel):
    """Files being taken in. One at a time writes to a library; others wait for their turn."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "id": "5f1c0a9be2d7",
                "status": "done",
                "stage": "finishing",
                "files": [_FILE],
                "files_total": 1,
                "share": 1.0,
                "started": "2026-01-02T10:00:00+00:00",
                "error": None,
            }
        }
    )

    id: str
    status: JobStatus
    stage: Stage = Field(default="waiting", description="What it is at, or was at last.")
    files: list[JobFile] = Field(
        default_factory=list,
        description="Of a folder with very many files the first ones, and those that failed.",
    )
    files_total: int = 0
    share: float = Field(default=0.0, ge=0, le=1)
    started: str = Field(description="When it was asked for; ISO 8601 in UTC.")
    error: str | None = Field(default=None, description="Why all of it failed.")
