"""A person's documents, made searchable."""

from secondlook.library.library import Library, samples_folder
from secondlook.library.report import (
    AddReport,
    DocumentInfo,
    FailedFile,
    FileChange,
    Progress,
    Status,
    Text,
)

__all__ = [
    "AddReport",
    "DocumentInfo",
    "FailedFile",
    "FileChange",
    "Library",
    "Progress",
    "Status",
    "Text",
    "samples_folder",
]
