"""The libraries of a server, each opened once, when it is first needed."""

from __future__ import annotations

import asyncio
import secrets
import shutil
import threading
from typing import TYPE_CHECKING, Final

from secondlook.errors import LibraryDamaged, LibraryMissing, UsageError
from secondlook.library.about import about, checked_title, entitle, libraries_beside, new_place
from secondlook.settings.sections import DEFAULT_LIBRARY, Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

    from secondlook.engine.secondlook import Secondlook

_UNTITLED: Final = {DEFAULT_LIBRARY: "My library"}
_MOST_LIBRARIES = 100


class Libraries:
    """Threads may share one. `engine` may take a while: call it in a thread, or use `aengine`."""

    def __init__(
        self, settings: Settings, *, opening: Callable[[Settings], Secondlook] | None = None
    ) -> None:
        self._settings = settings
        self._opening = opening or open_engine
        self._lock = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}
        self._engines: dict[str, Secondlook] = {}
        self._without_web: dict[str, Secondlook] = {}
        self._replaced: list[Secondlook] = []  # by other settings, while runs go on in them
        self._closed = False

    def names(self) -> tuple[str, ...]:
        return (DEFAULT_LIBRARY, *self._places())

    def _places(self) -> dict[str, Path]:
        """Those beside the usual one, and those of the settings, which come first."""
        beside = libraries_beside(self._settings.library.path)
        return {
            **self._settings.serve.library_paths,
            **beside,
            **self._settings.serve.library_paths,
        }

    def titles(self) -> dict[str, str]:
        """What each is called."""
        places = {DEFAULT_LIBRARY: self._settings.library.path, **self._places()}
        return {name: _title(path) or _UNTITLED.get(name, name) for name, path in places.items()}

    def make(self, title: str) -> str:
        """A new one beside the usual one; its name."""
        title = checked_title(title)
        with self._lock:
            if title.casefold() in (one.casefold() for one in self.titles().values()):
                raise UsageError(
                    f"there is a library {title!r} already", hint="give it another name"
                )
            if len(self.names()) > _MOST_LIBRARIES:
                said = f"there are {_MOST_LIBRARIES} libraries already"
                raise UsageError(said, hint="delete one, or add to one of them")
            place = new_place(self._settings.library.path, title, self.names())
            library = self._settings.library.model_copy(update={"path": place})
            self._opening(self._settings.model_copy(update={"library": library})).close()
        entitle(place, title)
        return place.name

    def may_delete(self, name: str) -> bool:
        return name in libraries_beside(self._settings.library.path) and (
            name not in self._settings.serve.library_paths
        )

    async def delete(self, name: str) -> None:
        """With all that it holds. On the loop that the engines work on, as `aclose` is."""
        path = self.path(name)
        for held in (self._without_web, self._engines):
            if (engine := held.pop(name, None)) is not None:
                await (engine.adetach() if held is self._without_web else engine.aclose())
        # First out of sight, so that a half deleted one is never opened.
        gone = path.with_name(f".{name}-{secrets.token_hex(4)}")
        await asyncio.to_thread(path.rename, gone)
        await asyncio.to_thread(shutil.rmtree, gone, ignore_errors=True)

    def path(self, name: str) -> Path:
        return self.settings(name).library.path

    def named(self, path: str) -> str | None:
        return next((name for name in self.names() if str(self.path(name)) == path), None)

    def settings(self, name: str) -> Settings:
        if name == DEFAULT_LIBRARY:
            return self._settings
        try:
            path = self._places()[name]
        except KeyError:
            hint = f"there are {', '.join(self.names())}"
            raise LibraryMissing(f"there is no library {name!r} here", hint=hint) from None
        library = self._settings.library.model_copy(update={"path": path})
        return self._settings.model_copy(update={"library": library})

    def engine(self, name: str = DEFAULT_LIBRARY) -> Secondlook:
        self.settings(name)  # refuses one that is not served
        with self._lock:
            own = self._locks.setdefault(name, threading.Lock())
        with own:  # the others need not wait for one that is slow to open
            if name not in self._engines:
                if self._closed:
                    raise LibraryMissing("the server is stopping", hint="start it again")
                began, opened = self._settings, self._opening(self.settings(name))
                with self._lock:
                    self._engines[name] = opened
                if self._settings is not began:  # they changed while it was opened
                    self.change()
            return self._engines[name]

    def change(self, settings: Settings | None = None) -> None:
        """Ask with other settings from now on. The libraries stay open, runs keep their engines."""
        from secondlook.engine.secondlook import Secondlook

        with self._lock:
            before, self._settings = self._settings, settings or self._settings
            try:
                made = {
                    name: Secondlook(old.library, settings=self.settings(name))
                    for name, old in self._engines.items()
                }
            except BaseException:
                self._settings = before
                raise
            self._replaced += [*self._engines.values(), *self._without_web.values()]
            self._without_web.clear()
            self._engines.update(made)

    async def let_go(self, used: Collection[Secondlook]) -> None:
        """Of the engines that were replaced, but for those in use; on the loop they work on."""
        with self._lock:
            gone = [engine for engine in self._replaced if engine not in used]
            self._replaced = [engine for engine in self._replaced if engine in used]
        for engine in gone:
            await engine.adetach()

    def without_web(self, name: str) -> Secondlook:
        """The same library asked without the web, where the server would search it."""
        engine = self.engine(name)
        if not engine.settings.web.enable_web_search:
            return engine
        with self._lock:
            if name not in self._without_web:
                from secondlook.engine.secondlook import Secondlook

                web = engine.settings.web.model_copy(update={"enable_web_search": False})
                settings = engine.settings.model_copy(update={"web": web})
                self._without_web[name] = Secondlook(engine.library, settings=settings)
            return self._without_web[name]

    async def aengine(self, name: str = DEFAULT_LIBRARY, *, web: bool | None = None) -> Secondlook:
        while True:  # what was made in a thread may have been replaced meanwhile
            offline = web is False and self.settings(name).web.enable_web_search
            engine = (self._without_web if offline else self._engines).get(name)
            if engine is not None:
                return engine
            await asyncio.to_thread(self.without_web if offline else self.engine, name)

    def drain(self) -> None:
        """Every run finishes the step that it is at, and is left there."""
        for engine in (*self._engines.values(), *self._without_web.values(), *self._replaced):
            engine.drain()

    async def aclose(self) -> None:
        """On the loop that the engines worked on: their models belong to it."""
        self._closed = True
        for engine in (*self._without_web.values(), *self._replaced):
            await engine.adetach()
        engines, self._engines = list(self._engines.values()), {}
        for engine in engines:
            await engine.aclose()


def _title(path: Path) -> str:
    try:
        return about(path).title
    except LibraryDamaged:  # the others must be there all the same
        return ""


def open_engine(settings: Settings) -> Secondlook:
    from secondlook.engine.secondlook import Secondlook
    from secondlook.library.library import Library

    library = Library.open(settings.library.path, create=True, settings=settings)
    return Secondlook(library, settings=settings)
