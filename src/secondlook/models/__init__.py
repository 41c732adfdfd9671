"""Chat models by role: who serves which, and the one door through which every call goes."""

from __future__ import annotations

from secondlook.models.asker import Asker
from secondlook.models.port import (
    Chat,
    ChatRequest,
    ChatResult,
    Finish,
    Message,
    ModelBusy,
    ModeRefused,
    OutputMode,
    Reply,
    Role,
)
from secondlook.models.service import Models, open_models
from secondlook.models.specs import ModelSpec, parse_spec

__all__ = [
    "Asker",
    "Chat",
    "ChatRequest",
    "ChatResult",
    "Finish",
    "Message",
    "ModeRefused",
    "ModelBusy",
    "ModelSpec",
    "Models",
    "OutputMode",
    "Reply",
    "Role",
    "open_models",
    "parse_spec",
]
