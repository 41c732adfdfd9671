"""Where runs are recorded by a server: an address that may hold a password, which nobody sees."""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qsl, urlencode

from pydantic import Secret

SCHEMES: Final = ("postgresql://", "postgres://")
_SHOWN = frozenset({"host", "hostaddr", "port", "dbname", "sslmode"})
"""Parameters that hold no secret."""


class StoreAddress(Secret[str]):
    """Written anywhere, also with the settings of a run, it is without its password."""

    def __bool__(self) -> bool:
        return bool(self.get_secret_value())

    def _display(self) -> str:
        return without_password(self.get_secret_value())


def checked_address(address: StoreAddress) -> StoreAddress:
    """The driver says what it cannot read in its errors: a password must not be part of that."""
    text = address.get_secret_value()
    if not text:
        return address
    scheme = next((one for one in SCHEMES if text.startswith(one)), None)
    if scheme is None:
        raise ValueError("Input should be postgresql://USER@HOST/DATABASE, or empty")
    place = text[len(scheme) :].split("?")[0].split("/")[0]
    if text.count("@") > ("@" in place):
        raise ValueError("Input should have %40, %2F and %3F for @, / and ? in a name or password")
    return address


def without_password(text: str) -> str:
    rest, mark, query = text.partition("?")
    scheme, separator, place = rest.partition("://")
    user, at, host = place.rpartition("@")
    shown = [(name, value) for name, value in parse_qsl(query) if name in _SHOWN]
    asked = f"{mark}{urlencode(shown, safe='/')}" if shown else ""
    return f"{scheme}{separator}{user.partition(':')[0]}{at}{host}{asked}"
