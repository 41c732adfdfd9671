"""Who may use a server that asks for a token: whoever shows it, or a cookie made from it."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from typing import Final

COOKIE: Final = "secondlook"
_FOR_THE_COOKIE: Final = b"secondlook session cookie"
_BEARER: Final = "bearer "


def made_up() -> str:
    return secrets.token_urlsafe(24)


@dataclass(frozen=True, slots=True)
class Token:
    """None = the server asks for none."""

    value: str | None = None

    def __repr__(self) -> str:
        return "Token(set)" if self.value else "Token(none)"

    @property
    def cookie(self) -> str:
        """What a browser keeps instead of the token: nobody can tell the token from it."""
        return hmac.new((self.value or "").encode(), _FOR_THE_COOKIE, hashlib.sha256).hexdigest()

    def fits(self, given: str) -> bool:
        return self.value is not None and _same(given, self.value)

    def admits(self, authorization: str | None, cookies: str | None) -> bool:
        if self.value is None:
            return True
        if authorization and authorization[: len(_BEARER)].lower() == _BEARER:
            return self.fits(authorization[len(_BEARER) :].strip())
        return any(_same(given, self.cookie) for given in _cookies(cookies))


def _same(given: str, right: str) -> bool:
    """In a time that tells nothing, of the length neither."""
    one, other = (hashlib.sha256(text.encode("utf-8", "replace")) for text in (given, right))
    return hmac.compare_digest(one.digest(), other.digest())


def _cookies(header: str | None) -> list[str]:
    """Every cookie of our name. Browsers send what any server of this machine has set, whatever
    its port: one of theirs, odd or of the same name, must not hide ours."""
    pairs = (pair.partition("=") for pair in (header or "").split(";"))
    return [value.strip() for name, _, value in pairs if name.strip() == COOKIE]
