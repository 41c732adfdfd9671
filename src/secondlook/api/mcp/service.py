"""What the tools work with: the same on HTTP, where it is the server's own, and on stdio."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from secondlook.api.asking.runs import Runs
    from secondlook.api.libraries import Libraries
    from secondlook.api.library.jobs import Jobs
    from secondlook.library import Library
    from secondlook.settings import Settings

DEFAULT_LIBRARY = "default"


@dataclass(frozen=True, slots=True)
class Service:
    settings: Settings
    libraries: Libraries
    runs: Runs
    jobs: Jobs

    def library(self, name: str = DEFAULT_LIBRARY) -> Library:
        """The first call opens it and takes its time: call it in a thread."""
        return self.libraries.engine(name).library
