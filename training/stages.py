"""Commands that follow one another: what is done stays done, what failed says where to look."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from secondlook.errors import SecondlookError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parents[1]


class StageFailed(SecondlookError):
    """A command of the chain ended with an error."""


@dataclass(frozen=True, slots=True)
class Places:
    """What the braces in a stage's command stand for."""

    work: Path
    out: Path
    data: Path
    base: Path
    teacher: Path
    tokenizer: Path

    def fill(self, argument: str) -> str:
        for name, place in asdict(self).items():
            argument = argument.replace(f"{{{name}}}", str(Path(place).absolute()))
        return argument


@dataclass(frozen=True, slots=True)
class Stage:
    name: str
    command: tuple[str, ...]
    """A module and its arguments."""

    def record(self, work: Path) -> Path:
        return work / "stages" / f"{self.name}.json"

    def log(self, work: Path) -> Path:
        return work / "stages" / f"{self.name}.log"

    def is_done(self, work: Path) -> bool:
        try:
            record = json.loads(self.record(work).read_text("utf-8"))
        except (OSError, ValueError):
            return False
        return bool(record["command"] == list(self.command))


def run_stages(
    stages: Sequence[Stage],
    places: Places,
    *,
    first: str | None = None,
    last: str | None = None,
    dry: bool = False,
) -> None:
    """Run what is not done, and everything after it. `first` runs again even if it is done."""
    begin = _number(stages, first) if first else None
    end = _number(stages, last) if last else len(stages) - 1
    changed = False
    for number, stage in enumerate(stages[: end + 1]):
        before = begin is not None and number < begin
        changed = changed or number == begin or not (before or stage.is_done(places.work))
        if not changed:
            _say(f"{stage.name}: done before")
        elif dry:
            _say(_shown(stage, places))
        else:
            _run(stage, places)


def _number(stages: Sequence[Stage], name: str) -> int:
    names = [stage.name for stage in stages]
    if name not in names:
        raise UsageError(f"no stage {name!r}", hint=f"There are {', '.join(names)}.")
    return names.index(name)


def _shown(stage: Stage, places: Places) -> str:
    return f"{stage.name}: python -m {' '.join(map(places.fill, stage.command))}"


def _run(stage: Stage, places: Places) -> None:
    record = stage.record(places.work)
    record.parent.mkdir(parents=True, exist_ok=True)
    record.unlink(missing_ok=True)
    _say(_shown(stage, places))
    command = [sys.executable, "-m", *map(places.fill, stage.command)]
    began = time.monotonic()
    with stage.log(places.work).open("w", encoding="utf-8") as log:
        code = _logged(command, log)
    if code:
        raise StageFailed(
            f"stage {stage.name!r} failed with code {code}",
            hint=f"Its output is in {str(stage.log(places.work))!r}. The same command goes on.",
        )
    seconds = round(time.monotonic() - began, 1)
    text = json.dumps({"command": stage.command, "seconds": seconds}, indent=1)
    record.write_text(text + "\n", "utf-8")


def _logged(command: list[str], log: IO[str]) -> int:
    """Run it; what it says is shown and kept."""
    with subprocess.Popen(  # noqa: S603 our own modules
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8"
    ) as process:
        try:
            for line in process.stdout or ():
                sys.stdout.write(line)
                sys.stdout.flush()
                log.write(line)
        except BaseException:
            process.terminate()
            raise
        return process.wait()


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
