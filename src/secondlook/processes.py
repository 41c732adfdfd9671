"""How worker processes are held: apart from the terminal, and never longer than their parent."""

from __future__ import annotations

import contextlib
import signal
import sys
from typing import Any, Self

_NEW_GROUP_ON_WINDOWS = 0x00000200 | 0x08000000  # CREATE_NEW_PROCESS_GROUP, CREATE_NO_WINDOW
APART: dict[str, Any] = (
    {"creationflags": _NEW_GROUP_ON_WINDOWS} if sys.platform == "win32" else {"process_group": 0}
)
"""For `subprocess`: Ctrl-C in the terminal reaches the parent alone, which then decides."""


def die_with_parent() -> None:
    """Linux only: the kernel ends this process when its parent ends, also while it hangs."""
    if sys.platform != "linux":
        return
    import ctypes

    set_parent_death_signal = 1
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)


class Closing:
    """What has a `close` and is used in a `with` block."""

    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
