"""Settings: what can be set, and where each effective value came from.

Six places, each overriding the ones before it:

    defaults                                      this file
    <user config folder>/secondlook/config.toml   one person's habits
    secondlook.toml                               nearest one from the working folder upward
    SECONDLOOK_<SECTION>_<KEY>                    one shell or one job
    a preset                                      a set of values that belong together: shipped,
                                                  in <user config folder>/secondlook/profiles,
                                                  or any file that is named by its path
    flags                                         one command
"""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import platformdirs
from pydantic import ConfigDict, TypeAdapter, ValidationError

from secondlook.errors import SettingsError
from secondlook.settings.mistakes import in_plain_words, nearest, where_to_look
from secondlook.settings.sections import APP_NAME, SECTIONS, Settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PROJECT_FILE = "secondlook.toml"
PROFILES = "profiles"
USER_FILE = "config.toml"
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


def user_file() -> Path:
    return Path(platformdirs.user_config_dir(APP_NAME, appauthor=False)) / USER_FILE


KEYS: tuple[str, ...] = tuple(
    f"{section}.{key}" for section, model in SECTIONS.items() for key in model.model_fields
)
_LISTS = frozenset(
    f"{section}.{name}"
    for section, model in SECTIONS.items()
    for name, field in model.model_fields.items()
    if field.annotation == tuple[str, ...]
)
_NOT_SHOWN = frozenset(
    {
        "embedding.api_key_env",
        "library.index",
        "library.index_token_env",
        "serve.token_env",
        "runs.store",
    }
)
"""What holds a secret, or may by mistake."""
ENV_NAMES: dict[str, str] = {
    f"{ENV_PREFIX}{key.replace('.', '_').upper()}": key for key in KEYS
} | ENV_SHORT_FORMS


@dataclass(frozen=True, slots=True)
class Loaded:
    """Effective settings, and for each dotted key the place its value came from."""

    settings: Settings
    origin: Mapping[str, str]
    files: tuple[Path, ...]
    """The settings files that were read, the one that wins last."""

    def value(self, key: str) -> object:
        section, name = key.split(".")
        return getattr(getattr(self.settings, section), name)


@dataclass(frozen=True, slots=True)
class _Given:
    """One value as some place gave it."""

    key: str
    value: object
    place: str
    """As an error names it."""
    origin: str
    base: Path
    """What a relative path in it is relative to."""
    textual: bool = False
    """It came as a string (from the environment) whatever its type should be."""


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
    for given in chain(
        _everywhere(files, variables, here),
        _from_preset(preset, here),
        _from_texts(texts or {}, here),
        _from_flags(flags or {}, here),
    ):
        values[given.key] = _checked(given)
        origin[given.key] = given.origin
    return Loaded(_combined(values, origin), origin, tuple(files))


def find_project_file(start: Path) -> Path | None:
    """The nearest `secondlook.toml`, from `start` upward."""
    folder = start.absolute()
    places = (parent / PROJECT_FILE for parent in (folder, *folder.parents))
    return next((place for place in places if place.is_file()), None)


def _everywhere(files: list[Path], variables: Mapping[str, str], here: Path) -> Iterator[_Given]:
    for file in files:
        yield from _from_file(file, trusted=file.name != PROJECT_FILE)
    yield from _from_environment(variables, here)


def presets() -> tuple[str, ...]:
    """Names of the presets that are shipped, and of the person's own."""
    return preset_names(_own_presets())


def preset_place(given: str, *, cwd: Path | None = None) -> Path:
    """The file in which a new preset of that name, or at that path, belongs."""
    return place_of_preset(given, own=_own_presets(), cwd=Path.cwd() if cwd is None else cwd)


def _own_presets() -> Path:
    return user_file().parent / PROFILES


def _from_preset(given: str | None, here: Path) -> Iterator[_Given]:
    if given is None:
        return
    preset = find_preset(given, own=_own_presets(), cwd=here)
    for one in _from_file(preset.file, trusted=preset.trusted):
        yield replace(one, place=f"preset {preset.name}", origin=f"preset {preset.name}")


def _from_file(file: Path, *, trusted: bool) -> Iterator[_Given]:
    for section, content in _parsed(file).items():
        if section not in SECTIONS:
            raise _unknown(f"{file}: unknown setting {section!r}", section)
        if not isinstance(content, dict):
            raise SettingsError(
                f"{file}: {section!r} is {content!r} but must be a section",
                hint=f"Write a line [{section}] and its keys below it.",
            )
        for name, value in content.items():
            key = f"{section}.{name}"
            if key not in KEYS:
                raise _unknown(f"{file}: unknown setting {key!r}", key)
            why = None if trusted else why_refused(key, value)
            if why is not None:
                raise _not_from_a_project(file, key, value, why)
            yield _Given(key, value, place=str(file), origin=str(file), base=file.parent)


def _parsed(file: Path) -> dict[str, Any]:
    try:
        # Editors on Windows put a byte order mark in front, which TOML does not allow.
        return tomllib.loads(file.read_bytes().decode("utf-8-sig"))
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(
            f"{file} is not valid TOML: {error}", hint="Strings need quotes; see docs/settings.md."
        ) from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{file} is not UTF-8: {error}", hint="Save it as UTF-8.") from error
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror}") from error


def _not_from_a_project(file: Path, key: str, value: object, why: str) -> SettingsError:
    variable = f"{ENV_PREFIX}{key.replace('.', '_').upper()}"
    kind = "a project file" if file.name == PROJECT_FILE else "a file given by its path"
    move = "" if file.name == PROJECT_FILE else f", or move the file to {_own_presets()}"
    return SettingsError(
        f"{file}: {key} is {_shown(key, value)}, but {kind} {why}",
        hint=f"If you trust it, set it in {user_file()} or as {variable}{move}.",
    )


def _from_environment(variables: Mapping[str, str], here: Path) -> Iterator[_Given]:
    ours = {name for name in variables if name.startswith(ENV_PREFIX)} - ENV_RESERVED
    for name in sorted(ours):  # sorted: SECONDLOOK_LIBRARY_PATH overrides its short form
        key = ENV_NAMES.get(name)
        if key is None:
            raise _unknown_variable(name)
        if variables[name] == "":
            continue  # the usual way to unset a variable for one command
        yield _Given(key, variables[name], place=name, origin=name, base=here, textual=True)


def _from_flags(flags: Mapping[str, object], here: Path) -> Iterator[_Given]:
    for key, value in flags.items():
        if key not in KEYS:
            raise _unknown(f"unknown setting {key!r}", key)
        if value is not None:
            flag = FLAG_NAMES.get(key, f"--{key.split('.')[1].replace('_', '-')}")
            yield _Given(key, value, place=flag, origin=flag, base=here)


def _from_texts(texts: Mapping[str, str], here: Path) -> Iterator[_Given]:
    for key, value in texts.items():
        if key not in KEYS:
            raise _unknown(f"--set: unknown setting {key!r}", key)
        yield _Given(key, value, place=f"--set {key}", origin="--set", base=here, textual=True)


def _checked(given: _Given) -> object:
    """The value with its right type, or an error that names its place and what is allowed."""
    section, name = given.key.split(".")
    field = SECTIONS[section].model_fields[name]
    adapter: TypeAdapter[Any] = TypeAdapter(
        Annotated[field.annotation, field],  # type: ignore[arg-type]  # an annotation is a value here
        config=ConfigDict(strict=True),
    )
    try:
        value = _typed(adapter, given)
    except ValidationError as error:
        raise _not_allowed(given, error.errors()[0]["msg"]) from error
    return _absolute(value, given) if isinstance(value, Path) else value


def _typed(adapter: TypeAdapter[Any], given: _Given) -> Any:
    if not given.textual:
        return adapter.validate_python(given.value)
    text = str(given.value)
    if given.key in _LISTS:  # a list is written with commas in the environment
        return tuple(part.strip() for part in text.split(",") if part.strip())
    return adapter.validate_strings(text, strict=False)


def _absolute(path: Path, given: _Given) -> Path:
    if not str(given.value).strip():
        raise _not_allowed(given, "Input should be a path")
    if str(path).startswith("s3:"):  # an address, relative to nothing
        return path
    try:
        return given.base.absolute() / path.expanduser()
    except RuntimeError as error:  # ~nobody
        raise _not_allowed(given, "Input should start with a known home folder") from error


def _combined(values: Mapping[str, object], origin: Mapping[str, str]) -> Settings:
    nested: dict[str, dict[str, object]] = {}
    for key, value in values.items():
        section, name = key.split(".")
        nested.setdefault(section, {})[name] = value
    try:
        return Settings.model_validate(nested)
    except ValidationError as error:
        # Each value is right by itself, so what is left is one that contradicts another.
        problem = error.errors()[0]
        raise _contradiction(str(problem["loc"][0]), problem["msg"], values, origin) from error


def _contradiction(
    section: str, message: str, values: Mapping[str, object], origin: Mapping[str, str]
) -> SettingsError:
    given = [
        f"{key}={value!r} from {origin[key]}"
        for key, value in values.items()
        if key.startswith(f"{section}.")
    ]
    return SettingsError(
        f"{in_plain_words(message)} ({', '.join(given)})",
        hint="Change one of them, or give it as a flag or a variable for one command.",
    )


def _not_allowed(given: _Given, message: str) -> SettingsError:
    allowed = in_plain_words(message)
    # A key pasted where its variable's name belongs must not end up on a screen or in a log.
    subject = given.place if given.place.startswith("--") else f"{given.place}: {given.key}"
    return SettingsError(
        f"{subject} {allowed}, not {_shown(given.key, given.value)}",
        hint=f"{given.key}: {_about(given)}",
    )


def _shown(key: str, value: object) -> str:
    return "that value" if key in _NOT_SHOWN else repr(value)


def _about(given: _Given) -> str:
    section, name = given.key.split(".")
    return SECTIONS[section].model_fields[name].description or ""


def _unknown(message: str, name: str) -> SettingsError:
    meant = nearest_key(name)
    return SettingsError(message, hint=where_to_look(repr(meant) if meant else None))


def nearest_key(name: str) -> str | None:
    """The known key or section that a mistyped one most likely meant, if it is like any."""
    last = name.rpartition(".")[2]
    for key in KEYS:
        if key.split(".")[1] == last:  # right key, wrong section or none
            return key
    known = [*KEYS, *SECTIONS] if "." in name else [*SECTIONS, *KEYS]
    return nearest(name, known)


def _unknown_variable(name: str) -> SettingsError:
    # Compared without the prefix: it alone would make every name look like every other.
    known = {one.removeprefix(ENV_PREFIX): one for one in ENV_NAMES}
    meant = nearest(name.removeprefix(ENV_PREFIX), known)
    hint = where_to_look(known[meant] if meant else None)
    return SettingsError(f"unknown environment variable {name}", hint=hint)


# Sets of values that belong together: shipped with Secondlook, a person's own, or any file.

SHIPPED = Path(__file__).parent / "profiles"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


@dataclass(frozen=True, slots=True)
class Preset:
    name: str
    """As it was asked for."""
    file: Path
    trusted: bool
    """Shipped, or put among the person's own settings; else it may have come with a folder."""


def preset_names(own: Path) -> tuple[str, ...]:
    """Of the shipped presets and of those in the folder `own`."""
    return tuple(sorted({*_names(SHIPPED), *_names(own)}))


def find_preset(given: str, *, own: Path, cwd: Path) -> Preset:
    """By its name, or by the path of a TOML file: `./fast.toml`."""
    if _is_path(given):
        file = cwd / Path(given).expanduser()
        return Preset(given, file, trusted=_same_folder(file.parent, own))
    places = [folder / f"{given}.toml" for folder in (SHIPPED, own) if given in _names(folder)]
    if len(places) > 1:
        raise SettingsError(
            f"{places[1]} has the name of a preset that is shipped: {given!r}",
            hint=f"Rename the file, or give it as --preset {places[1]}.",
        )
    if not places:
        raise _preset_files_unknown(given, preset_names(own))
    return Preset(given, places[0], trusted=True)


def place_of_preset(given: str, *, own: Path, cwd: Path) -> Path:
    """Where a preset of that name, or path, belongs if it is to be made."""
    if _is_path(given):
        return cwd / Path(given).expanduser()
    if not _NAME.fullmatch(given):
        raise SettingsError(
            f"{given!r} is no name for a preset",
            hint="Use letters, digits, - and _; or give a path that ends with .toml.",
        )
    if given in _names(SHIPPED):
        raise SettingsError(f"{given!r} is a preset that is shipped", hint="Take another name.")
    return own / f"{given}.toml"


def _is_path(given: str) -> bool:
    return given.endswith(".toml") or "/" in given or "\\" in given


def _names(folder: Path) -> list[str]:
    files = folder.glob("*.toml") if folder.is_dir() else ()
    return [file.stem for file in files if _NAME.fullmatch(file.stem)]


def _same_folder(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()


def _preset_files_unknown(given: str, known: tuple[str, ...]) -> SettingsError:
    meant = nearest(given, known)
    guess = f"Did you mean {meant!r}? " if meant else ""
    return SettingsError(
        f"there is no preset {given!r}",
        hint=f"{guess}There are {', '.join(known)}; a file is given by its path, ./NAME.toml.",
    )


# What a settings file that came with a folder may not say: who opens the folder did not write
# it.

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
