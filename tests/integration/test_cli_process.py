"""The command as a process: streams, encodings, signals, terminals, and what it imports."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from secondlook.cli.main import main
from tests.support.unprivileged import SECONDLOOK, environment

HEAVY = ("lance", "numpy", "onnxruntime", "pyarrow", "pydantic", "rich", "tokenizers")


def run(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*SECONDLOOK, *arguments], env=environment(), capture_output=True, timeout=120, check=False
    )


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("cli-process")
    document = folder / "Größe — 蜂.md"
    document.write_text("# Größe der Bienen\n\nBienen messen 12 bis 16 mm — 蜜蜂。\n", "utf-8")
    assert main(["add", "-q", str(document), "--library", str(folder / "lib")]) == 0
    return str(folder / "lib")


@pytest.mark.parametrize("arguments", [["--help"], ["search", "--help"], ["--version"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    program = (
        "import sys; from secondlook.cli.main import main; code = main(sys.argv[1:]);"
        f"print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr);"
        "sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=environment(),
        capture_output=True,
        check=True,
    )
    assert done.stderr.strip() == b"[]"
    assert done.stdout


def test_exit_codes_reach_the_shell(tmp_path: Path) -> None:
    assert run("--version").returncode == 0
    assert run("status", "--library", str(tmp_path / "none")).returncode == 1
    assert run("nonsense").returncode == 2


@pytest.mark.parametrize(
    "arguments", [["list"], ["search", "Bienen"], ["show", "Größe — 蜂.md"], ["config"]]
)
def test_a_reader_that_goes_away_is_no_error(library: str, arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*SECONDLOOK, *arguments, "--library", library],
        env=environment(),
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writing)
    assert done.stderr == b""
    assert done.returncode == 141


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends Ctrl-C to a whole console")
def test_ctrl_c_keeps_what_is_reported_and_the_same_command_completes_it(tmp_path: Path) -> None:
    documents = tmp_path / "documents"
    documents.mkdir()
    for number in range(40):
        (documents / f"{number}.txt").write_text(f"Bee number {number} hums.")
    arguments = ["add", "--json", str(documents), "--library", str(tmp_path / "lib")]
    done = subprocess.run(
        [sys.executable, "-c", STOPPING_ITSELF, *arguments],
        env=environment(),
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 130, done.stderr
    assert done.stderr.decode().endswith("the same command adds the rest.\n")
    first = json.loads(done.stdout)
    assert first["interrupted"]
    again = json.loads(run(*arguments).stdout)
    assert not again["interrupted"]
    assert again["counts"]["unchanged"] == first["counts"]["added"]
    assert again["counts"]["added"] + first["counts"]["added"] == 40


STOPPING_ITSELF = """
import os, signal, sys
from contextlib import contextmanager
import secondlook.cli.library as add
from secondlook.library import ingest
ingest._COMMIT_PASSAGES = 5

@contextmanager
def shown_progress(call):
    sent = []
    def stop_once(progress):
        if progress.files_done >= 10 and not sent:
            sent.append(True)
            os.kill(os.getpid(), signal.SIGINT)
    yield stop_once

add.shown_progress = shown_progress
from secondlook.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
