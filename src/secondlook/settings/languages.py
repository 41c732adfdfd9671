"""The languages a library can be in, as a setting names them."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from secondlook.settings.mistakes import nearest

LANGUAGES = frozenset(
    # Names and ISO 639-1 codes. A test holds them equal to what retrieval, which lies above the
    # settings and cannot be imported here, knows how to analyse.
    """
    none ar ca cs da de el en eo es et eu fa fi fr ga hi hu hy id it ja ko lt ne nl no pl pt ro ru
    sr sv ta th tr vi yi zh arabic armenian basque catalan chinese czech danish dutch english
    esperanto estonian finnish french german greek hindi hungarian indonesian irish italian japanese
    korean lithuanian nepali norwegian persian polish portuguese romanian russian serbian spanish
    swedish tamil thai turkish vietnamese yiddish
    """.split()  # noqa: SIM905  # eighty quoted words are harder to read
)


def known_language(language: str) -> str:
    """The language in lower case, or a ValueError that names the nearest known one."""
    asked = language.strip().lower()
    if asked not in LANGUAGES:
        meant = nearest(asked, sorted(LANGUAGES))
        like = f" (did you mean {meant!r}?)" if meant else ", such as 'german' or 'de'"
        raise ValueError(f"must be a known language{like}")
    return asked


Language = Annotated[str, AfterValidator(known_language)]
