"""`secondlook doctor`: what is installed, what is found, what is missing and how to get it."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from secondlook import __version__
from secondlook.cli.ask import (
    PresetOption,  # noqa: TC001
    WebOption,  # noqa: TC001
)
from secondlook.cli.command import (
    Call,
    YesOption,
    argument,
    command,
    counted,
    flag,
    group_of,
    harmless,
    is_terminal,
    print_json,
)
from secondlook.errors import (
    LibraryMissing,
    RunMissing,
    SecondlookError,
    SettingsError,
    UsageError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from secondlook.reading.weights import ModelName
    from secondlook.sandbox import Choice
    from secondlook.settings import Loaded
    from secondlook.settings.sections import Settings

State = Literal["ok", "missing", "broken"]
_MARKS = {"ok": "ok", "missing": "--", "broken": "!!"}
_GIB = 1024**3


@dataclass(frozen=True, slots=True)
class Finding:
    area: str
    name: str
    state: State
    said: str
    fix: str | None = None
    needed: bool = False  # without it the configuration that is in effect does not work


@command("\b\nExit code 1: something needed is broken. Example:\n  secondlook doctor --json\n")
def doctor(call: Call) -> int:
    """Say what is installed, found and missing, with the command that fixes it."""
    found = list(_findings(call))
    well = not any(finding.needed and finding.state == "broken" for finding in found)
    if call.as_json:
        print_json({"ok": well, "findings": [asdict(finding) for finding in found]})
    else:
        _print(found)
        call.say("All that is needed is there." if well else "Something that is needed is broken.")
    return 0 if well else 1


def _findings(call: Call) -> Iterator[Finding]:
    from secondlook.settings.sections import Settings, place_of

    try:
        settings = call.load().settings
        yield Finding("settings", "settings", "ok", "read without a mistake")
    except SettingsError as error:
        settings = Settings()
        yield Finding("settings", "settings", "broken", error.message, error.hint, needed=True)
    runs, chosen = str(settings.runs.store or settings.runs.path), settings.sandbox.backend
    place = place_of(settings.library.path)
    checks: tuple[tuple[str, str, Callable[[], Iterator[Finding]]], ...] = (
        ("weights", "embedder", lambda: _weights("embedder")),
        ("weights", "reader", lambda: _weights("reader")),
        ("weights", "understander", lambda: _weights("understander")),
        ("model", settings.reader.model, lambda: _reader(settings.reader.model)),
        ("library", place, lambda: _library(settings, place)),
        ("runs", runs, lambda: _runs(settings, runs)),
        ("model", "models", lambda: _models(settings)),
        ("extra", "extras", lambda: _programs(settings)),
        ("sandbox", chosen, lambda: _sandbox(chosen)),
        ("found", "ollama", _within_reach),
    )
    for area, name, work in checks:
        try:
            yield from work()
        except SecondlookError as error:
            needed = area != "found"
            yield Finding(area, name, "broken", error.message, error.hint, needed=needed)


def _weights(name: ModelName) -> Iterator[Finding]:
    from secondlook.reading.weights import INSTALL_HINT, find_weights, verify_weights

    try:
        weights = find_weights(name)
        verify_weights(weights)
    except OSError as error:
        said = f"a file of it cannot be read: {error}"
        yield Finding("weights", name, "broken", said, INSTALL_HINT, needed=True)
    else:
        yield Finding("weights", name, "ok", weights.identity)


def _reader(chosen: str) -> Iterator[Finding]:
    """A reader that is not the embedded one. It is not loaded: that may take a download."""
    from secondlook.reading import reader_parts

    if chosen == "embedded":
        return
    reader_parts(chosen)
    if find_spec("sentence_transformers") is None:
        said, fix = "sentence-transformers is not installed", "pip install sentence-transformers"
        yield Finding("model", chosen, "broken", said, fix, needed=True)
    else:
        said = "judges relevance; the embedded reader finds the answers (secondlook calibrate)"
        yield Finding("model", chosen, "ok", said)


def _library(settings: Settings, place: str) -> Iterator[Finding]:
    from secondlook.library.library import Library

    try:
        with Library.open(settings.library.path, create=False, settings=settings) as library:
            status = library.status()
    except LibraryMissing:
        yield Finding("library", place, "missing", "there is none yet", "secondlook add ~/papers")
        return
    said = f"{counted(status.documents, 'document')}, {counted(status.passages, 'passage')}"
    why = f"; {status.why_compact}" if status.compact_due else ""
    fix = "secondlook library compact" if status.compact_due else None
    yield Finding("library", place, "ok", said + why, fix)


def _runs(settings: Settings, place: str) -> Iterator[Finding]:
    """Opened as a question opens it, but nothing is made."""
    from secondlook.engine.record import RunStore

    said = "nothing is recorded (runs.keep is 0)"
    if settings.runs.keep:
        try:
            with RunStore(settings.runs, create=False) as store:
                said = counted(len(store.list(None)), "run")
        except RunMissing:
            said = "none has been recorded yet"
    yield Finding("runs", place, "ok", said)


def _models(settings: Settings) -> Iterator[Finding]:
    from secondlook.models.discovery import fitness
    from secondlook.models.probe import stored_probe
    from secondlook.models.specs import ROLES, Cast
    from secondlook.nodes.grade import fit_of, in_words

    cast = Cast(settings.models)
    specs = {cast.part(role).spec.text: cast.part(role).spec for role in ROLES}
    for name, spec in specs.items():
        said, fix = fitness(spec)
        grades = spec.named and spec == cast.part("grade").spec
        probe = stored_probe(spec) if grades else None
        fit = fit_of(probe) if probe is not None else None
        grading = ""
        if fit is not None and fit.passages is not None:
            able = "fit" if fit.grades_passages else "unfit"
            grading = f"; {able} to grade ({in_words(fit.passages)})"
        state: State = "broken" if fix else "ok"
        yield Finding("model", name, state, f"{said}{grading}", fix, needed=True)


def _programs(settings: Settings) -> Iterator[Finding]:
    """Packages, OCR and the page: what some files, charts and `serve` need."""
    from secondlook.models.discovery import extras, lacking
    from secondlook.retrieval.parse import ocr
    from secondlook.server.pages import BUILT, is_built

    for extra, packages in extras().items():
        missing = [name for name, version in packages.items() if version is None]
        if missing:
            said = f"not installed: {', '.join(missing)}"
            yield Finding("extra", extra, "missing", said, lacking(extra))
        else:
            there = [f"{name} {version}" for name, version in packages.items()]
            yield Finding("extra", extra, "ok", ", ".join(there))
    if settings.ingest.ocr != "off":
        models, program = ocr.usable()
        said = program or "not found: scanned pages are reported, not read"
        said = "rapidocr reads scanned pages" if models else said
        fix = None if models or program else lacking("ocr")
        yield Finding("ocr", "scans", "missing" if fix else "ok", said, fix)
    if is_built():
        said = f"secondlook serve: {settings.serve.host}:{settings.serve.port}"
        yield Finding("server", "page", "ok", said)
    else:
        said = f"not built: {BUILT} holds no index.html, so that serve offers the API alone"
        yield Finding("server", "page", "missing", said, "cd web && npm ci && npm run build")


def _sandbox(chosen: Choice) -> Iterator[Finding]:
    """Whether generated code would be confined, found out by confining a small process."""
    from secondlook.sandbox import available

    verdicts = [one for one in available() if chosen in ("auto", one.name)]
    if not any(one.usable for one in verdicts):
        why = "; ".join(f"{one.name}: {one.why}" for one in verdicts)
        said = f"generated code is not run here, what needs none is answered ({why})"
        fix = "run Secondlook on Linux: a container or WSL 2 will do"
        if "pip install" in why:
            fix = "pip install matplotlib pandas plotly scikit-learn scipy statsmodels"
        elif sys.platform == "linux":
            fix = "use Linux 5.13 or later with Landlock, or allow user namespaces"
        yield Finding("sandbox", chosen, "missing", said, fix)
        return
    usable = next(one for one in verdicts if one.usable)
    said = f"{usable.why}; `secondlook sandbox check` attacks it"
    yield Finding("sandbox", usable.name, "ok", said)


def _within_reach() -> Iterator[Finding]:
    from secondlook.models.discovery import find_gguf, find_ollama, keys_set

    for name in keys_set():
        said = "is set" if name.isupper() else "its key is kept"
        yield Finding("found", name, "ok", said)
    for path, size in find_gguf():
        yield Finding("found", path, "ok", f"{size / _GIB:.1f} GiB, use it as gguf:{path}")
    address, models = find_ollama()
    said, fix = f"at {address}: {', '.join(models or ())}", None
    if models is None:
        said = f"nobody answers at {address}"
        fix = "install it from https://ollama.com, then: ollama serve"
    elif not models:
        said, fix = f"answers at {address}, without any model", "ollama pull qwen2.5:1.5b"
    yield Finding("found", "ollama", "missing" if fix else "ok", said, fix)


def _print(found: list[Finding]) -> None:
    area = ""
    for finding in found:
        if finding.area != area:
            area = finding.area
            sys.stdout.write(f"{area}\n")
        sys.stdout.write(f"  {_MARKS[finding.state]}  {finding.name}: {finding.said}\n")
        if finding.fix and finding.state != "ok":
            sys.stdout.write(f"      fix: {finding.fix}\n")


# `secondlook config` and `version`: what is in effect here, and where it came from.

_PARTS_THAT_MATTER = ("secondlook-qa-weights", "pylance", "onnxruntime", "pypdfium2")


@command(
    """\
\b
Examples (docs/settings.md):
  SECONDLOOK_SEARCH_K=5 secondlook config
  secondlook config set search.k 5
"""
)
def config(
    call: Call, *, path: bool = flag("--path", "Print where settings files are looked for.")
) -> None:
    """Show every setting in effect, and where its value came from."""
    from secondlook.settings import PROJECT_FILE, find_project_file, user_file

    project = find_project_file(Path.cwd())
    if path and not call.as_json:
        there = "" if user_file().is_file() else " (not there)"
        sys.stdout.write(f"user     {user_file()}{there}\n")
        sys.stdout.write(f"project  {project or f'no {PROJECT_FILE} from here upward'}\n")
        return
    loaded = call.load()
    if call.as_json:
        settings = {key: _form(loaded, key) for key in loaded.origin}
        files = {"user_file": str(user_file()), "project_file": str(project) if project else None}
        print_json({"settings": settings, **files, "files": [str(file) for file in loaded.files]})
        return
    shown = {key: _as_toml(loaded.value(key)) for key in loaded.origin}
    left = max(map(len, shown))
    middle = min(40, max(map(len, shown.values())))
    for key, value in shown.items():
        sys.stdout.write(harmless(f"{key:<{left}}  {value:<{middle}}  {loaded.origin[key]}\n"))


def _completed(incomplete: str) -> list[str]:
    from secondlook.settings import KEYS

    return [key for key in KEYS if key.startswith(incomplete)]


_KEY: str = typer.Argument(
    ..., metavar="KEY", help="Such as search.k (docs/settings.md).", autocompletion=_completed
)


@command("\b\nExample:\n  secondlook config get models.default\n")
def get_setting(call: Call, *, key: str = _KEY) -> None:
    """Print one setting, as it counts here."""
    from secondlook.settings import check_key

    check_key(key)
    loaded = call.load()
    if call.as_json:
        print_json({"key": key, **_form(loaded, key)})
    else:
        value = _plain(loaded.value(key))  # a text without quotes, for a script
        sys.stdout.write(harmless(f"{value if isinstance(value, str) else _as_toml(value)}\n"))


@command(
    """\
\b
A list is written with commas. Keys of providers: secondlook models key. Examples:
  secondlook config set models.default ollama:qwen2.5
  secondlook config set answer.max_risk 0.1
"""
)
def set_setting(
    call: Call,
    *,
    key: str = _KEY,
    value: str = argument(..., "What it shall be.", "VALUE"),
) -> None:
    """Set one for good, in your own settings file; its comments stay."""
    from secondlook.models.specs import KEY_VARIABLES

    for provider, variable in KEY_VARIABLES.items():
        if key.upper() == variable:
            hint = f"secondlook models key {provider} keeps it, in a file that only you can read"
            raise UsageError("keys are not kept in the settings", hint=hint)
    _change(call, key, value)


@command("\b\nExample:\n  secondlook config unset answer.max_risk\n")
def unset_setting(call: Call, *, key: str = _KEY) -> None:
    """Take one out of your own settings file: the default counts again."""
    _change(call, key, None)


def _change(call: Call, key: str, value: str | None) -> None:
    from secondlook.models.discovery import fitness
    from secondlook.models.specs import Cast
    from secondlook.settings import change, user_file

    made: list[Cast] = []
    overridden = change(
        {key: value}, textual=True, check=lambda settings: made.append(Cast(settings.models))
    )
    done = f"{key} is {'taken out of' if value is None else 'set in'} {user_file()}."
    call.tell({"key": key, "file": str(user_file()), "overridden_by": overridden.get(key)}, done)
    if place := overridden.get(key):
        call.say(f"note: here {place} overrides it")
    for spec in made[0].specs() if key.startswith("models.") else ():
        said, fix = fitness(spec)
        if fix:
            call.say(f"note: {spec.text} cannot be used yet: {said}\nhint: {fix}")


def config_group() -> typer.Typer:
    """`config` by itself shows them all."""
    about = "Show every setting in effect and where its value came from; set one for good."
    named: dict[str, Callable[..., int]] = {"get": get_setting, "set": set_setting}
    return group_of(about, config.epilog, config, **named, unset=unset_setting)  # type: ignore[attr-defined]


@command(
    "\b\nDocuments are trusted one by one: ask --trust. Example:\n  secondlook trust ~/papers\n",
    library=False,
)
def trust(
    call: Call,
    *,
    folder: Path = argument(Path(), "Folder with a secondlook.toml, or a preset.", "FOLDER"),
    undo: bool = flag("--undo", "Trust it no more."),
    yes: YesOption = False,
) -> None:
    """Let the settings file of a folder set what otherwise only your own may."""
    from secondlook.settings import find_project_file, read_file, shown, trust_record
    from secondlook.settings.sections import FIELDS
    from secondlook.settings.trust import remember, why_refused

    file = find_project_file(folder) if folder.is_dir() else folder
    if file is None:
        raise UsageError(f"there is no secondlook.toml in {str(folder)!r}")
    if undo:
        was = remember(file, None, record=trust_record())
        said = f"{file} is trusted no more." if was else f"{file} was not trusted."
        call.tell({"file": str(file), "trusted": False}, said)
        return
    data, made = read_file(file)
    new = {key: value for key, value in made if why_refused(file, key, value, trusted=False)}
    if not new:
        call.tell({"file": str(file), "settings": []}, f"{file} sets nothing that needs it.")
        return
    for key, value in new.items():
        sys.stderr.write(f"{key} = {shown(key, value)}   {FIELDS[key].description}\n")
    if not yes and (call.as_json or not is_terminal(sys.stdin)):
        raise UsageError("nobody can be asked here", hint="--yes trusts it without a question")
    call.confirm(f"Let {file} set {counted(len(new), 'thing')} that only you may?", yes=yes)
    remember(file, data, record=trust_record())
    told = {"file": str(file), "trusted": True, "settings": list(new)}
    call.tell(told, f"{file} is trusted until it changes.")


@command()
def version(call: Call) -> None:
    """Print the versions of Secondlook and its main parts."""
    import platform

    from secondlook.models.discovery import installed

    parts = {name: installed(name) for name in _PARTS_THAT_MATTER}
    facts = {"python": platform.python_version(), "platform": platform.platform()}
    if call.as_json:
        print_json({"version": __version__, **facts, "parts": parts})
        return
    sys.stdout.write(f"secondlook {__version__}\n")
    for name, value in {**facts, **parts}.items():
        sys.stdout.write(f"{name:<20}{value or 'not installed'}\n")


def _form(loaded: Loaded, key: str) -> dict[str, object]:
    from secondlook.settings.sections import StoreAddress

    value = loaded.value(key)
    if isinstance(value, StoreAddress):
        value = str(value)
    return {"value": _plain(value), "origin": loaded.origin[key]}


def _plain(value: object) -> object:
    from secondlook.settings.sections import place_of

    return place_of(value) if isinstance(value, Path) else value


def _as_toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"[{', '.join(_as_toml(item) for item in value)}]"
    if value is None:
        return "not set"
    return str(value) if isinstance(value, int | float) else f'"{_plain(value)}"'


# `secondlook graph`: the workflows, and each one drawn.


@command("\b\nDrawn as your settings make it. Example:\n  secondlook graph adaptive --web\n")
def graph(
    call: Call,
    *,
    name: str | None = argument(None, "Which one to draw; left out: list them.", "WORKFLOW"),
    web: WebOption = None,
    preset: PresetOption = None,
) -> None:
    """Draw a workflow as a Mermaid diagram, or list them all."""
    from secondlook.graphs.registry import WORKFLOWS, workflow

    settings = call.load({"web.enable_web_search": web}, preset=preset).settings
    if name is not None:
        chosen = workflow(name)
        drawn = chosen.build(settings).compile().get_graph().draw_mermaid(with_styles=False).strip()
        if call.as_json:
            print_json({"name": chosen.name, "about": chosen.about, "mermaid": drawn})
        else:
            typer.echo(drawn)
        return
    usual = settings.answer.workflow
    if call.as_json:
        listed = [{"name": item.name, "about": item.about} for item in WORKFLOWS.values()]
        print_json({"default": usual, "workflows": listed})
        return
    width = max(map(len, WORKFLOWS))
    for item in WORKFLOWS.values():
        mark = " (default)" if item.name == usual else ""
        typer.echo(f"{item.name:<{width}}  {item.about}{mark}")
