"""Keys of model providers, in a file beside the settings that only its owner can read. They are
never shown: not by a command, in a record, an export, a log or a reply of the server."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from secondlook.errors import SettingsError
from secondlook.files import close_to_others, write_whole
from secondlook.settings import user_file

if TYPE_CHECKING:
    from pathlib import Path


def keys_file() -> Path:
    return user_file().with_name("keys.json")


def kept_keys() -> dict[str, str]:
    """By whom each is for: a provider, or `provider@ADDRESS`."""
    file = keys_file()
    try:
        close_to_others(file)
        held = json.loads(file.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        hint = "Delete it, and give the keys once more: secondlook models key PROVIDER"
        raise SettingsError(f"the file of keys {str(file)!r} cannot be read", hint=hint) from error
    return {str(name): str(key) for name, key in held.items()} if isinstance(held, dict) else {}


def keep_key(name: str, key: str | None) -> bool:
    """Keep it, or with None forget it; whether there was one before."""
    held = kept_keys()
    before = held.pop(name, None)
    if key is not None:
        held[name] = key
    write_whole(keys_file(), json.dumps(held, indent=2).encode())
    return before is not None
