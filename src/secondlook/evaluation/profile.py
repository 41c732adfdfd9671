"""A configuration that an ablation found non-inferior, kept as a preset to answer with."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from secondlook.errors import SettingsError, UsageError
from secondlook.evaluation.records import Configuration
from secondlook.settings import KEYS, SECTIONS, load, preset_place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from secondlook.answer import Scalar
    from secondlook.evaluation.records import Ablation, Comparison, Results, Verdict

MARK = "# Written by `secondlook eval --ablate --write`."
"""First line of a profile. What lacks it was written by somebody, and is left alone."""
_WORKFLOW = "answer.workflow"
_SHAPING = ("search", "answer", "adaptive", "corrective")
"""Sections that shape answers. Which model writes and where it is asked stays a person's own."""


def write_profile(results: Results, name: str, *, cwd: Path | None = None) -> Path:
    """The cheapest configuration that is not inferior, as the preset of that name or path."""
    ablation = results.ablation
    if ablation is None:
        raise UsageError("these results hold no ablation", hint="run it with --ablate")
    found = results.summaries[ablation.cheapest]
    return write_configuration(
        ablation,
        Configuration(ablation.cheapest, found.workflow, found.changes, found.about),
        preset_place(name, cwd=cwd),
        measured_on=_measured_on(results),
        shared=_shared(results.settings),
    )


def write_configuration(
    ablation: Ablation,
    configuration: Configuration,
    path: Path,
    *,
    measured_on: str = "",
    shared: Mapping[str, Scalar] | None = None,
) -> Path:
    """The configuration as a preset at `path`.

    `measured_on` names the set; `shared` are settings that all configurations were given beside
    their own. Only what was shown to lose no more than the margin is written.
    """
    verdict = _verdict(ablation, configuration.name)
    if verdict.verdict not in {"non-inferior", "reference"}:
        raise UsageError(
            f"{configuration.name!r} is {verdict.verdict}, so no profile is made of it: "
            f"{verdict.why}",
            hint=_advice(ablation, verdict),
        )
    _refuse_foreign(path)
    values = {**(shared or {}), _WORKFLOW: configuration.workflow, **configuration.changes}
    lines = [MARK, *_measured(ablation, configuration, measured_on), *_as_toml(values)]
    _put(path, "\n".join(lines) + "\n")
    return path


def _measured_on(results: Results) -> str:
    name, model = results.data.get("name", "a set"), results.versions.get("model", "none")
    return f"{name} with {'no model' if model == 'none' else model}"


def _shared(settings: Mapping[str, Any]) -> dict[str, Scalar]:
    """What was set for all, wherever it came from: the profile must not depend on that place."""
    return {
        f"{section}.{name}": value
        for section in _SHAPING
        for name, value in settings.get(section, {}).items()
        if f"{section}.{name}" in KEYS and value != SECTIONS[section].model_fields[name].default
    }


def _verdict(ablation: Ablation, name: str) -> Verdict:
    found = next((one for one in ablation.verdicts if one.configuration == name), None)
    if found is None:
        names = ", ".join(repr(one.configuration) for one in ablation.verdicts)
        raise UsageError(f"there is no configuration {name!r}", hint=f"there are {names}")
    return found


def _advice(ablation: Ablation, verdict: Verdict) -> str:
    if verdict.more_questions:
        return f"about {verdict.more_questions} more questions would decide it"
    return f"the cheapest that is not inferior is {ablation.cheapest!r}"


def _measured(ablation: Ablation, configuration: Configuration, measured_on: str) -> Iterator[str]:
    where = f" on {measured_on}" if measured_on else ""
    yield _comment(f"{configuration.name}: {configuration.about or 'as configured'}")
    found = next((one for one in ablation.comparisons if one.other == configuration.name), None)
    if found is None:
        yield _comment(f"The reference of an ablation{where}.")
        return
    yield _comment(_sentence(found, ablation.margin, where))


def _sentence(found: Comparison, margin: float, where: str) -> str:
    one = found.deciding
    return (
        f"Not inferior to {found.base}{where} ({one.n} questions, margin {margin:g}): "
        f"{one.metric} {one.other:.3f} against {one.base:.3f}, difference {one.difference:+.3f}, "
        f"95 % interval {one.low:+.3f} to {one.high:+.3f}."
    )


def _comment(text: str) -> str:
    """One line, whatever names it holds."""
    return f"# {' '.join(_printable(text).split())}"


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text)


def _as_toml(values: Mapping[str, Scalar]) -> Iterator[str]:
    """Section by section, in the order in which settings are documented."""
    section = ""
    for key in KEYS:
        if key not in values or values[key] is None:  # None: not set, which a file says by silence
            continue
        own, name = key.split(".")
        if own != section:
            yield from (["", f"[{own}]"] if section else [f"[{own}]"])
            section = own
        yield f"{name} = {_literal(values[key])}"


def _literal(value: Scalar) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)


def _refuse_foreign(path: Path) -> None:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            first = file.readline()
    except FileNotFoundError:
        return
    except OSError as error:
        raise _cannot(path, error) from error
    if first.rstrip("\r\n") != MARK:
        raise UsageError(
            f"{str(path)!r} exists and was not written by an ablation",
            hint="take another name, or move it away",
        )


def _put(path: Path, text: str) -> None:
    """Whole or not at all, and only if it can be loaded again from where it will lie."""
    partial = path.with_name(f".{path.stem}.part.toml")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            partial.write_text(text, encoding="utf-8")
            load(preset=str(partial.absolute()))
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
    except SettingsError as error:
        raise UsageError(
            f"the profile could not be used: {error.message}", hint=error.hint
        ) from error
    except OSError as error:
        raise _cannot(path, error) from error


def _cannot(path: Path, error: OSError) -> UsageError:
    return UsageError(
        f"{str(path)!r} cannot be written: {error.strerror or error}",
        hint="name another place with --write",
    )
