"""The documentation is run: its Python, its commands, and what it says they print. Blocks marked
`python` are executed, and what a line `# prints: ...` says must be printed. In blocks marked
`console` every line after `$ ` is a command and what follows it is its output, where `...` stands
for anything. Each page gets a home folder of its own with the sample documents in `~/papers`; paths
below it are printed as `/home/ada`. Scores and seconds may differ. Other blocks (`sh`, `text`,
`toml`, ...) are not run. A shell runs the commands of README.md and docs/cli.md, and those that
need one: a pipe, a file to write to, another program. The others are run in this process, which has
the product loaded: most of their time would be spent on that."""

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from secondlook.cli.main import main
from secondlook.library.library import samples_folder
from secondlook.settings import KEYS
from secondlook.settings.sections import SECTIONS

Done: TypeAlias = "subprocess.CompletedProcess[str]"
ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "examples" / "README.md"])
HOME_SHOWN = "/home/ada"
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)#\s]+)(#[^)\s]*)?\)")
_SCORE = re.compile(r"  \d\.\d{3}$", re.MULTILINE)
_SECONDS = re.compile(r" [\d.]+ s\b")
_PRINTS = re.compile(r"^ *# prints: (.*)$", re.MULTILINE)
_RUN = {"python", "console"}
_QUICK = {"README.md", "settings.md", "tables.md"}
"""Pages of every run of the tests; the soak does what all of them say."""
SOAK = bool(os.environ.get("SECONDLOOK_SOAK"))
_BY_A_SHELL = {ROOT / "README.md", ROOT / "docs" / "cli.md"}
_HERE = {
    *("add", "ask", "backup", "calibrate", "list", "rebuild", "remove", "restore", "runs"),
    *("library", "search", "show", "status", "tables", "verify"),
}
"""Commands that end by themselves and ask nobody anything."""
_QUOTED = re.compile(r"""'[^']*'|"[^"$`\\]*\"""")
_OF_A_SHELL = re.compile(r"""[]|&;<>$`*?(){}[\\#!'"]""")


@dataclass(frozen=True, slots=True)
class Block:
    language: str
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    text = page.read_text("utf-8")
    return [
        Block(found[1], found[2], text.count("\n", 0, found.start()) + 1)
        for found in _FENCE.finditer(text)
    ]


def commands(block: Block) -> list[tuple[str, str]]:
    """Each command with the output that the page shows for it."""
    found: list[tuple[str, str]] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], ""))
        elif found:
            found[-1] = (found[-1][0], found[-1][1] + line + "\n")
    return found


def words_of(command: str) -> list[str] | None:
    """What `secondlook` is given; None where a shell or another program has to run it."""
    if not command.startswith("secondlook ") or _OF_A_SHELL.search(_QUOTED.sub("", command)):
        return None
    words = [os.path.expanduser(word) for word in shlex.split(command)[1:]]  # noqa: PTH111
    return words if words[0] in _HERE else None


def matches(shown: str, printed: str) -> bool:
    wanted = re.escape(_settled(shown)).replace(r"\.\.\.", ".*")
    return re.fullmatch(wanted, _settled(printed), re.DOTALL) is not None


def _settled(text: str) -> str:
    """Without what differs from run to run: scores and seconds."""
    return _SECONDS.sub(" 0 s", _SCORE.sub("  0.000", text)).strip()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "home"
    shutil.copytree(samples_folder(), made / "papers")
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(made))
    monkeypatch.setenv("XDG_DATA_HOME", str(made / ".local" / "share"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(made / ".config"))
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent) + os.pathsep + os.environ["PATH"])
    monkeypatch.chdir(made)
    return made


@pytest.mark.unmeasured
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=() if page.name in _QUICK else [pytest.mark.slow])
        for page in PAGES
        if any(block.language in _RUN for block in blocks(page))
    ],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_page_does_what_it_says(page: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = _by_a_shell if SOAK and page in _BY_A_SHELL else partial(_here, capsys)
    names: dict[str, Any] = {"__name__": "__page__"}
    for block in blocks(page):
        place = f"{page.name}:{block.line}"
        if block.language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(compile(block.text, place, "exec"), names)  # noqa: S102 - our own pages
            for line in _PRINTS.findall(block.text):
                assert line in printed.getvalue().splitlines(), f"{place}: {printed.getvalue()}"
        elif block.language == "console":
            found = commands(block)
            assert found, f"{place} has no line that begins with '$ '"
            for command, shown in found:
                _check(run(command), shown, place, home)


def _by_a_shell(command: str) -> Done:
    return subprocess.run(
        ["bash", "-c", command], capture_output=True, encoding="utf-8", timeout=120, check=False
    )


def _here(capsys: pytest.CaptureFixture[str], command: str) -> Done:
    words = words_of(command)
    if words is None:
        return _by_a_shell(command)
    capsys.readouterr()
    code = main(words)
    said = capsys.readouterr()
    return subprocess.CompletedProcess(command, code, said.out, said.err)


def _check(done: Done, shown: str, place: str, home: Path) -> None:
    command = done.args if isinstance(done.args, str) else done.args[-1]
    failed = shown.startswith("error:")
    # An answer that is withheld has an exit code of its own, too.
    expects_error = failed or shown.startswith("I couldn't find a clear answer")
    assert (done.returncode != 0) == expects_error, f"{place}: {command}\n{done.stderr}"
    printed = done.stderr if failed else done.stdout
    printed = printed.replace(str(home), HOME_SHOWN)
    if shown.strip():
        assert matches(shown, printed), f"{place}: {command}\nprinted:\n{printed}\nshown:\n{shown}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    for target, _ in _LINK.findall(_FENCE.sub("", page.read_text("utf-8"))):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_what_a_page_names_is_there(page: Path) -> None:
    """Tests and benchmarks are named where a promise or a figure stands; they must exist."""
    text = page.read_text("utf-8")
    named = set(re.findall(r"\b(?:tests|benchmarks|scripts)/[\w/.-]+\w", text))
    named |= {f"benchmarks/{name}.py" for name in re.findall(r"-m benchmarks\.(\w+)", text)}
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_settings_that_a_page_names_exist(page: Path) -> None:
    """`section.key`, written in full; what a section lacks was renamed or retired."""
    named = re.findall(r"`([a-z]+)\.([a-z][a-z_]*)(?: = [^`]*)?`", page.read_text("utf-8"))
    files = ("json", "db", "toml")
    keys = {f"{one}.{key}" for one, key in named if one in SECTIONS and key not in files}
    assert sorted(keys - set(KEYS)) == []


def test_every_document_of_the_folder_is_in_its_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text("utf-8")
    for page in (ROOT / "docs").glob("*.md"):
        assert page.name == "README.md" or f"({page.name})" in index, page.name
