"""What a job does: take in an upload, take in files by path, read files again."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from secondlook.api.library.job import MOST_FILES
from secondlook.library.survey import MEMBER_SEPARATOR

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.api.library.job import RunningJob
    from secondlook.library import FileChange, Library
    from secondlook.library.uploads import Staging

_KEPT_BEFORE = "; the version before it is kept"


class Uploaded:
    """Files that have arrived. What cannot be read is deleted, and what it would have replaced is
    there again."""

    def __init__(self, staging: Staging) -> None:
        self._staging = staging

    def names(self) -> list[str]:
        return [entry.name for entry in self._staging.entries()]

    def run(self, library: Library, job: RunningJob) -> None:
        kept: set[Path] = set()

        def done(change: FileChange) -> None:
            if change.change != "failed":
                kept.add(Path(change.path.partition(MEMBER_SEPARATOR)[0]))
            job.done(change)

        try:
            places = self._staging.put_in_place()
            job.expect(places)
            with suppress(KeyboardInterrupt):
                library.add(places, progress=job.progress, done=done)
        finally:
            self._settle(library, job, kept)

    def _settle(self, library: Library, job: RunningJob, kept: set[Path]) -> None:
        if job.leaving:
            self._staging.leave()
            return
        restored = self._staging.settle(kept)
        if restored:
            library.add(restored)
        for place in restored:
            job.mark(place, reason=_KEPT_BEFORE)

    def drop(self) -> None:
        self._staging.discard()

    def leave(self) -> None:
        self._staging.leave()


class Placed:
    """Files and folders where they lie: read again even if unchanged where `again` says so, and
    only those that really lie in one of the folders of `within`, where it names any."""

    def __init__(
        self, paths: Sequence[Path], *, again: bool = False, within: Sequence[Path] = ()
    ) -> None:
        self._paths = tuple(paths)
        self._again = again
        self._within = tuple(within)

    def names(self) -> list[str]:
        return []

    def run(self, library: Library, job: RunningJob) -> None:
        if len(self._paths) <= MOST_FILES and all(path.is_file() for path in self._paths):
            job.expect(self._paths)
        with suppress(KeyboardInterrupt):
            library.add(
                self._paths,
                force=self._again,
                within=self._within,
                progress=job.progress,
                done=job.done,
            )

    def drop(self) -> None:
        pass

    def leave(self) -> None:
        pass
