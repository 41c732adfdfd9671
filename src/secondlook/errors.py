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
│   ├── LibraryUnreachable a server or store that holds a part of it does not answer (retryable)
│   ├── LibraryReadOnly  it is a published copy, which can be read and not changed
│   └── LibraryDamaged   its parts contradict each other beyond repair
├── ModelError           a model, local or hosted, failed
│   ├── ModelUnavailable it is missing, died or did not answer (retryable)
│   │   ├── ModelTimeout it did not answer in the time it was given
│   │   ├── ModelBusy    it asks to wait (models.port)
│   │   └── UnusableModel a file that no worker can load; trying again is no use (models.gguf)
│   ├── ContextOverflow  the prompt is longer than the model can see
│   └── UnusableReply    it answered, but not in the form that was asked for
│       └── ModeRefused  it does not know this way of giving a form (models.port)
├── BudgetExceeded       the next call would break a cap on calls, tokens, money or seconds
├── SandboxError         no code can be run: no sandbox works here, or it broke
├── TableError           a table could not be read or computed with
├── WebSearchError       a web search or a page of it failed (retryable)
└── RunError             the record of runs
    ├── RunMissing       there is no such run
    ├── RunStopped       it was stopped before its answer, and can be taken up
    ├── RunTaken         another process works on that run
    └── RunStoreAway     the server that holds it does not answer (retryable)
"""

from typing import Literal


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


class Encrypted(ExtractionError): ...


class NoText(ExtractionError): ...


class Unsupported(ExtractionError): ...


class Damaged(ExtractionError): ...


class LimitExceeded(ExtractionError): ...


class LibraryError(SecondlookError): ...


class LibraryMissing(LibraryError): ...


class LibraryFormat(LibraryError): ...


class LibraryBusy(LibraryError):
    retryable = True


class LibraryUnreachable(LibraryError):
    retryable = True


class LibraryReadOnly(LibraryError): ...


class LibraryDamaged(LibraryError): ...


class ModelError(SecondlookError): ...


class ModelUnavailable(ModelError):
    retryable = True


class ModelTimeout(ModelUnavailable): ...


class ContextOverflow(ModelError): ...


class UnusableReply(ModelError): ...


Cap = Literal["calls", "tokens", "money", "seconds", "price"]
"""What of a budget stands against something; `price`: money is capped and a price is unknown."""


class BudgetExceeded(SecondlookError):
    """`cap` is which of the caps it was, `reason` the answer's stop reason."""

    def __init__(self, message: str, *, cap: Cap, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.cap = cap
        self.reason: Literal["budget", "deadline"] = "deadline" if cap == "seconds" else "budget"


class SandboxError(SecondlookError):
    """Generated code cannot be run here. What the code itself does wrong is an `Outcome`."""


class TableError(SecondlookError): ...


class WebSearchError(SecondlookError):
    retryable = True


class RunError(SecondlookError): ...


class RunMissing(RunError):
    exit_code = 2


class RunStopped(RunError):
    """Not an end: `secondlook runs resume` goes on with it."""

    exit_code = 143


class RunTaken(RunError):
    exit_code = 2


class RunStoreAway(RunError):
    retryable = True
