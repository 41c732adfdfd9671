"""Settings, and where each effective value came from. Each place overrides the ones before it:
defaults, <user config folder>/secondlook/config.toml, the nearest secondlook.toml from the working
folder upward, SECONDLOOK_<SECTION>_<KEY>, a preset (shipped, in <user config folder>/secondlook/
profiles, or a file named by its path), flags."""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import platformdirs
from pydantic import ConfigDict, Secret, TypeAdapter, ValidationError

from secondlook.errors import SettingsError
from secondlook.files import make_folder, write_whole
from secondlook.settings.addresses import hidden, names_a_user
from secondlook.settings.sections import (
    APP_NAME,
    FIELDS,
    SECTIONS,
    Settings,
    in_plain_words,
    nearest,
    place_of,
    value_of,
    where_to_look,
)
from secondlook.settings.trust import is_trusted, why_refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

PROJECT_FILE = "secondlook.toml"
ENV_PREFIX = "SECONDLOOK_"
ENV_SHORT_FORMS = {"SECONDLOOK_LIBRARY": "library.path"}
ENV_RESERVED = frozenset(
    f"{ENV_PREFIX}{name}" for name in ("CACHE", "DATA", "DEBUG", "SOAK", "TOKEN")
)
FLAG_NAMES = {
    "library.path": "--library",
    "ingest.workers": "--jobs",
    "models.default": "--model",
    "web.enable_web_search": "--web",
    "budget.seconds": "--timeout",
    "budget.calls": "--max-calls",
    "budget.tokens": "--max-tokens",
    "budget.money": "--max-cost",
}
KEYS: tuple[str, ...] = tuple(FIELDS)
_STORES = frozenset({"library.index", "runs.store"})
_NOT_SHOWN = _STORES | {"models.options"}  # may hold a secret
_TAKES_IT_APART = _STORES | {
    "models.default", "models.roles", "embedding.model", "embedding.base_url",
}  # fmt: skip


def _variable(key: str) -> str:
    return f"{ENV_PREFIX}{key.replace('.', '_').upper()}"


ENV_NAMES: dict[str, str] = {_variable(key): key for key in KEYS} | ENV_SHORT_FORMS


@dataclass(frozen=True, slots=True)
class Loaded:
    settings: Settings
    origin: Mapping[str, str]
    files: tuple[Path, ...]  # the settings files that were read, the one that wins last

    def value(self, key: str) -> object:
        return value_of(self.settings, key)


@dataclass(frozen=True, slots=True)
class _Given:
    key: str
    value: object
    place: str
    origin: str
    base: Path  # what a relative path in it is relative to
    textual: bool = False  # it came as a string (from the environment) whatever its type should be


def load(
    flags: Mapping[str, object] | None = None,
    *,
    texts: Mapping[str, str] | None = None,
    preset: str | None = None,
    cwd: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Loaded:
    """Read every place. `flags` maps dotted keys to values; None means the flag was not given.
    `texts` are flags of the form key=value, whose values come as they were typed."""
    here = Path.cwd() if cwd is None else cwd
    variables = os.environ if environ is None else environ
    files = [file for file in (user_file(), find_project_file(here)) if file and file.is_file()]
    values: dict[str, object] = {}
    origin = dict.fromkeys(KEYS, "default")
    for given in _everywhere(files, variables, preset, texts or {}, flags or {}, here):
        values[given.key] = _checked(given)
        origin[given.key] = given.origin
    return Loaded(_joined(values, origin), origin, tuple(files))


def _joined(values: Mapping[str, object], origin: Mapping[str, str]) -> Settings:
    nested: dict[str, Any] = {}
    for key, value in values.items():
        *sections, name = key.split(".")
        inner = nested
        for section in sections:
            inner = inner.setdefault(section, {})
        inner[name] = value
    try:
        return Settings.model_validate(nested)
    except ValidationError as error:
        # Each value is right by itself, so what is left is one that contradicts another.
        problem = error.errors()[0]
        section = str(problem["loc"][0])
        told = [
            f"{key}={shown(key, value)} from {origin[key]}"
            for key, value in values.items()
            if key.startswith(f"{section}.")
        ]
        said = f"{in_plain_words(problem['msg'])} ({', '.join(told)})"
        hint = "Change one of them, or give it as a flag or a variable for one command."
        raise SettingsError(said, hint=hint) from error


def user_file() -> Path:
    return Path(platformdirs.user_config_dir(APP_NAME, appauthor=False)) / "config.toml"


def find_project_file(start: Path) -> Path | None:
    folder = start.absolute()
    places = (parent / PROJECT_FILE for parent in (folder, *folder.parents))
    return next((place for place in places if place.is_file()), None)


def _everywhere(  # noqa: PLR0917
    files: list[Path],
    variables: Mapping[str, str],
    preset: str | None,
    texts: Mapping[str, str],
    flags: Mapping[str, object],
    here: Path,
) -> Iterator[_Given]:
    for file in files:
        yield from _from_file(file, own=file.name != PROJECT_FILE)
    yield from _from_environment(variables, here)
    if preset is not None:
        file, own = find_preset(preset, own=_own_presets(), cwd=here)
        name = f"preset {preset}"
        for one in _from_file(file, own=own):
            yield replace(one, place=name, origin=name)
    for key, text in texts.items():
        check_key(key, "--set: ")
        yield _Given(key, text, place=f"--set {key}", origin="--set", base=here, textual=True)
    for key, value in flags.items():
        check_key(key)
        if value is not None:
            flag = FLAG_NAMES.get(key, f"--{key.rpartition('.')[2].replace('_', '-')}")
            yield _Given(key, value, place=flag, origin=flag, base=here)


def read_file(file: Path) -> tuple[bytes, list[tuple[str, object]]]:
    """A settings file as it is, and setting by setting."""
    try:
        data = file.read_bytes()
        return data, _entries(file, data)
    except (OSError, ValueError) as error:  # TOML's and Unicode's errors are ValueErrors
        hint = "It must be TOML in UTF-8; strings need quotes; see docs/settings.md."
        raise SettingsError(f"{file} cannot be read: {error}", hint=hint) from error


def _entries(file: Path, data: bytes) -> list[tuple[str, object]]:
    # Editors on Windows put a byte order mark in front, which TOML does not allow.
    parsed = tomllib.loads(data.decode("utf-8-sig"))
    made: list[tuple[str, object]] = []
    for section, content in parsed.items():
        if section not in SECTIONS:
            raise _unknown(f"{file}: unknown setting {section!r}", section)
        if not isinstance(content, dict):
            said = f"{file}: {section!r} is {content!r} but must be a section"
            raise SettingsError(said, hint=f"Write a line [{section}] and its keys below it.")
        made += _flat(section, content)
    for key, _ in made:
        check_key(key, f"{file}: ")
    return made


def _from_file(file: Path, *, own: bool) -> Iterator[_Given]:
    data, made = read_file(file)
    trusted = own or is_trusted(file, data, record=trust_record())
    for key, value in made:
        why = None if own else why_refused(file, key, value, trusted=trusted)
        if why is not None:
            place = file.parent if file.name == PROJECT_FILE else file
            way = "" if trusted else f"secondlook trust {str(place)!r} lets all of it; or "
            raise SettingsError(
                f"{file}: {key} is {shown(key, value)}, but a file that came with a folder {why}",
                hint=f"{way}set it in {user_file()} or as {_variable(key)}, or move a preset to "
                f"{_own_presets()}.",
            )
        yield _Given(key, value, place=str(file), origin=str(file), base=file.parent)


def trust_record() -> Path:
    """Where is kept which settings files of folders the person trusts."""
    return user_file().parent / "trusted.json"


def _flat(path: str, content: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Dotted keys; a table below a section, such as [models.servers], is a map of settings."""
    for name, value in content.items():
        key = f"{path}.{name}"
        if isinstance(value, dict) and key not in FIELDS:
            yield from _flat(key, value)
        else:
            yield key, value


def check_key(key: str, place: str = "") -> None:
    if key not in FIELDS:
        raise _unknown(f"{place}unknown setting {key!r}", key)


def _from_environment(variables: Mapping[str, str], here: Path) -> Iterator[_Given]:
    ours = {name for name in variables if name.startswith(ENV_PREFIX)} - ENV_RESERVED
    for name in sorted(ours):  # sorted: SECONDLOOK_LIBRARY_PATH overrides its short form
        key = ENV_NAMES.get(name)
        if key is None:
            # Compared without the prefix: it alone would make every name look like every other.
            known = {one.removeprefix(ENV_PREFIX): one for one in ENV_NAMES}
            meant = nearest(name.removeprefix(ENV_PREFIX), known)
            hint = where_to_look(known[meant] if meant else None)
            raise SettingsError(f"unknown environment variable {name}", hint=hint)
        if variables[name]:  # the usual way to unset a variable for one command is to empty it
            yield _Given(key, variables[name], place=name, origin=name, base=here, textual=True)


def _checked(given: _Given) -> object:
    """The value with its right type, or an error that names its place and what is allowed."""
    field = FIELDS[given.key]
    if given.key not in _TAKES_IT_APART and names_a_user(str(given.value)):
        raise _not_allowed(given, "Input should be a plain address, without user and password")
    adapter: TypeAdapter[Any] = TypeAdapter(
        Annotated[field.annotation, field],  # type: ignore[arg-type]  # an annotation is a value here
        config=ConfigDict(strict=True, hide_input_in_errors=True),
    )
    try:
        if not given.textual:
            value = adapter.validate_python(given.value)
        elif field.annotation == tuple[str, ...]:  # a list is written with commas
            value = tuple(part for one in str(given.value).split(",") if (part := one.strip()))
        else:
            value = adapter.validate_strings(str(given.value), strict=False)
    except ValidationError as error:
        raise _not_allowed(given, error.errors()[0]["msg"]) from error
    if not isinstance(value, Path):
        return value
    if not str(given.value).strip():
        raise _not_allowed(given, "Input should be a path")
    if str(value).startswith("s3:"):  # an address, relative to nothing
        return value
    try:
        return given.base.absolute() / value.expanduser()
    except RuntimeError as error:  # ~nobody
        raise _not_allowed(given, "Input should start with a known home folder") from error


def _not_allowed(given: _Given, message: str) -> SettingsError:
    # A key pasted where its variable's name belongs must not end up on a screen or in a log.
    subject = given.place if given.place.startswith("--") else f"{given.place}: {given.key}"
    return SettingsError(
        f"{subject} {in_plain_words(message)}, not {shown(given.key, given.value)}",
        hint=f"{given.key}: {FIELDS[given.key].description}",
    )


def shown(key: str, value: object) -> str:
    return "that value" if key in _NOT_SHOWN else hidden(repr(value))


def _unknown(message: str, name: str) -> SettingsError:
    meant = nearest_key(name)
    return SettingsError(message, hint=where_to_look(repr(meant) if meant else None))


def nearest_key(name: str) -> str | None:
    last = name.rpartition(".")[2]
    for key in KEYS:
        if key.rpartition(".")[2] == last:  # right key, wrong section or none
            return key
    return nearest(name, [*KEYS, *SECTIONS] if "." in name else [*SECTIONS, *KEYS])


# The person's own settings file, changed by a command or on the page.

_SECONDS_TO_WAIT = 10.0  # for another process that changes the file


def change(
    values: Mapping[str, object], *, textual: bool = False, check: Callable[[Settings], object]
) -> dict[str, str]:
    """Set these in the person's own file; None takes one out. Comments and all else stay. The file
    is written whole, once it is right and `check` does not raise. Returns what overrides it here:
    for each key where the value that counts comes from."""
    from filelock import FileLock, Timeout

    file = user_file().resolve()  # it may be a link into a folder of such files
    for key in values:
        check_key(key)
    make_folder(file.parent)
    wanted = {
        key: value if value is None else _typed(key, value, textual=textual)
        for key, value in values.items()
    }
    lock = FileLock(file.with_name(f".{file.name}.lock"), timeout=_SECONDS_TO_WAIT)
    try:
        with lock:
            before, held = read_file(file) if file.is_file() else (b"", [])
            data = _edited(before, wanted)
            kept = dict(held) | wanted
            expected = {key: value for key, value in kept.items() if value is not None}
            try:
                made = _entries(file, data)
            except (SettingsError, ValueError):
                made = []
            if dict(made) != expected:  # inline tables, behind which no section can be put
                said = f"{file} is written in a way to which nothing can be added from here"
                raise SettingsError(said, hint="Write it there by hand, as a [section] with keys.")
            origin = dict.fromkeys(expected, str(file))
            given = [_Given(key, value, str(file), str(file), file.parent) for key, value in made]
            check(_joined({one.key: _checked(one) for one in given}, origin))
            write_whole(file, data)
    except (Timeout, OSError) as error:
        hint = "Is another program changing it, or is it not yours?"
        raise SettingsError(f"{file} cannot be written: {error}", hint=hint) from error
    try:
        now = load().origin
    except SettingsError:  # a mistake elsewhere, which every command tells
        return {}
    return {key: now[key] for key in wanted if now[key] not in {str(user_file()), "default"}}


def _typed(key: str, value: object, *, textual: bool) -> object:
    """As TOML has it; what is secret is refused."""
    place = user_file().name
    given = _Given(key, value, place, origin="", base=Path.cwd(), textual=textual)
    checked = _checked(given)
    secret = isinstance(checked, Secret) and str(checked) != checked.get_secret_value()
    if secret or hidden(str(value)) != str(value):
        hint = f"Set the variable {_variable(key)} instead."
        raise SettingsError(f"{key}: no file of settings should hold a password", hint=hint)
    if isinstance(checked, Secret):
        return checked.get_secret_value()
    if isinstance(checked, Path):
        return place_of(checked)
    return list(checked) if isinstance(checked, tuple) else checked


def _edited(data: bytes, values: Mapping[str, object]) -> bytes:
    import tomlkit

    document = tomlkit.parse(data.decode("utf-8-sig"))
    for key, value in values.items():
        *sections, name = key.split(".")
        table: Any = document
        for section in sections:
            if value is not None and section not in table:
                table[section] = tomlkit.table()
            table = table.get(section, {})
        if value is None:
            table.pop(name, None)
        else:
            table[name] = value
    return tomlkit.dumps(document).encode()


# Presets: sets of values that belong together, shipped, a person's own, or any file.

SHIPPED = Path(__file__).parent / "profiles"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


def presets() -> tuple[str, ...]:
    return tuple(sorted({*_names(SHIPPED), *_names(_own_presets())}))


def _own_presets() -> Path:
    return user_file().parent / "profiles"


def find_preset(given: str, *, own: Path, cwd: Path) -> tuple[Path, bool]:
    """Its file, and whether that is shipped or the person's own: else it came with a folder."""
    if given.endswith(".toml") or "/" in given or "\\" in given:
        file = cwd / Path(given).expanduser()
        return file, file.parent.resolve() == own.resolve()
    places = [folder / f"{given}.toml" for folder in (SHIPPED, own) if given in _names(folder)]
    if len(places) > 1:
        said = f"{places[1]} has the name of a preset that is shipped: {given!r}"
        raise SettingsError(said, hint=f"Rename the file, or give it as --preset {places[1]}.")
    if not places:
        known = presets()
        meant = nearest(given, known)
        guess = f"Did you mean {meant!r}? " if meant else ""
        hint = f"{guess}There are {', '.join(known)}; a file is given by its path, ./NAME.toml."
        raise SettingsError(f"there is no preset {given!r}", hint=hint)
    return places[0], True


def _names(folder: Path) -> list[str]:
    files = folder.glob("*.toml") if folder.is_dir() else ()
    return [file.stem for file in files if _NAME.fullmatch(file.stem)]
