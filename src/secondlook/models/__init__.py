"""Chat models by role: who serves which, and the one door through which every call goes."""

from __future__ import annotations

from secondlook.models.port import (
    Chat,
    ChatRequest,
    ChatResult,
    Finish,
    Message,
    OutputMode,
    Reply,
    Role,
)

__all__ = [
    "Chat",
    "ChatRequest",
    "ChatResult",
    "Finish",
    "Message",
    "OutputMode",
    "Reply",
    "Role",
]
