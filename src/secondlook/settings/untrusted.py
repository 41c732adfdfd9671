"""What a settings file that came with a folder may not say: who opens the folder did not write it.

It must not choose where a person's text, key or questions are sent.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_ADDRESS = re.compile(r"https?://[^\s'\",]*", re.IGNORECASE)
_SENDING = frozenset({"embedding", "library", "models", "web"})
"""Sections that say where a person's text may be sent."""
_OPENING = frozenset({"web.enable_web_search", "web.allow_private"})
_SERVING = {
    "serve": "may not say how this machine is served",
    "telemetry": "may not say who is told of what this machine does",
}
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def why_refused(key: str, value: object) -> str | None:
    """None = it may be said."""
    section = key.partition(".")[0]
    if section in _SENDING and _names_foreign_service(value):
        return "may name only a service on this machine"
    if key in _OPENING and value is True:
        return "may not open the way to the network"
    if key == "library.path" and str(value).startswith("s3:"):
        return "may not name a library that is not on this machine"
    if key == "runs.store":
        return "may not say where your questions are recorded"
    return _SERVING.get(section)


def _names_foreign_service(value: object) -> bool:
    # Also within a model's name: openai:MODEL@http://HOST/v1
    return any(_host(address) not in _LOOPBACK for address in _ADDRESS.findall(str(value)))


def _host(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:  # not an address at all
        return None
