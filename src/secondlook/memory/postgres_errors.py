"""What an error of PostgreSQL means for who asked a question, in words without a password."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.errors import RunError, RunStoreAway

if TYPE_CHECKING:
    import psycopg

_LOCKED = {"55P03", "40P01", "40001"}
_NO_ROOM = {"53100", "53200"}
_NO_RIGHT = {"42501", "25006"}
_GOING = ("57P", "08", "53300")
_ENTERING = (
    ("password", "the password is wrong or missing", "give it as PGPASSWORD or in ~/.pgpass"),
    ("role", "there is no such user", "check the user in runs.store"),
    ("database", "there is no such database", "make it: createdb NAME, or check runs.store"),
)
"""Why a server that answers lets nobody in. It says so in words alone, and in its own language:
where they are not known they are passed on."""


def explanation(error: psycopg.Error, said: str) -> RunError:
    """`said` names what it is about."""
    state = error.sqlstate or ""
    words = _words(error)
    if state in _LOCKED:
        return RunError(f"{said} is in use by another process", hint="try again")
    if state in _NO_ROOM:
        return RunError(f"{said} cannot be written: {words}", hint="make room on its server")
    if state in _NO_RIGHT:
        hint = "its user needs CREATE on the database, or on a schema called secondlook"
        return RunError(f"{said} cannot be written: {words}", hint=hint)
    if not state or state.startswith(_GOING):
        return _unreachable(words, said)
    return RunError(f"{said} is damaged: {words}", hint="name another database (runs.store)")


def _unreachable(words: str, said: str) -> RunError:
    _, refused, reason = words.partition("FATAL:")
    if "no password supplied" in words:
        refused, reason = "FATAL:", "password"
    for word, meaning, hint in _ENTERING:
        if refused and word in reason:
            return RunError(f"{said} cannot be entered: {meaning}", hint=hint)
    hint = "check that the server runs and that runs.store names it; then try again"
    return RunStoreAway(f"{said} cannot be reached: {words}", hint=hint)


def _words(error: psycopg.Error) -> str:
    """Its first line: the rest are guesses at what to do."""
    first = str(error).strip().partition("\n")[0]
    return first or type(error).__name__
