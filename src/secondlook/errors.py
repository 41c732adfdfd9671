"""Everything Secondlook raises on purpose.

SecondlookError
├── SettingsError        a setting is unknown, malformed or contradicts another
├── UsageError           the call itself cannot be carried out as asked
├── ExtractionError      one file could not be turned into text (costs that file only)
│   ├── Encrypted        it needs a password
│   ├── NoText           it holds no text (a scan, an empty file)
│   ├── Unsupported      no parser knows this kind of file
│   ├── Damaged          the parser gave up on its contents
│   └── LimitExceeded    it broke a limit on time, size, depth or memory
├── LibraryError         the library as a whole
│   ├── LibraryMissing   there is none at that path
│   ├── LibraryFormat    it was made by an incompatible version or with another embedder
│   ├── LibraryBusy      another process is writing to it (retryable)
│   └── LibraryDamaged   its parts contradict each other beyond repair
└── ModelError           a local model or an embedding service failed
    └── ModelUnavailable it is missing or did not answer (retryable)
"""

from __future__ import annotations


class SecondlookError(Exception):
    """Base of all errors meant for a person: what happened, and what to do about it."""

    exit_code = 1
    retryable = False

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class SettingsError(SecondlookError):
    exit_code = 2


class UsageError(SecondlookError):
    exit_code = 2


class ExtractionError(SecondlookError):
    """One file could not be turned into text. Never fatal to a run over many files."""


class Encrypted(ExtractionError):
    pass


class NoText(ExtractionError):
    pass


class Unsupported(ExtractionError):
    pass


class Damaged(ExtractionError):
    pass


class LimitExceeded(ExtractionError):
    pass


class LibraryError(SecondlookError):
    pass


class LibraryMissing(LibraryError):
    pass


class LibraryFormat(LibraryError):
    pass


class LibraryBusy(LibraryError):
    retryable = True


class LibraryDamaged(LibraryError):
    pass


class ModelError(SecondlookError):
    pass


class ModelUnavailable(ModelError):
    retryable = True
