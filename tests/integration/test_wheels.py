"""Both wheels, installed outside the clone: what they hold, and that the product works from them.
The dependencies are those of the environment that runs the tests, lent through a `.pth` file, so
that nothing is downloaded; the two packages themselves must come from the wheels."""

import contextlib
import json
import os
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

ROOT = Path(__file__).resolve().parents[2]
MAIN_LIMIT = 2_200_000
_REFERRED = re.compile(r"""(?:src|href)="([^"]+)\"""")


@dataclass(frozen=True, slots=True)
class Installed:
    """A virtual environment with both wheels, and a home of its own."""

    folder: Path
    home: Path

    @property
    def scripts(self) -> Path:
        return self.folder / ("Scripts" if os.name == "nt" else "bin")

    def run(self, *command: str) -> str:
        """What a program of the environment prints, run from a folder far from the clone."""
        done = subprocess.run(
            [str(self.scripts / command[0]), *command[1:]],
            cwd=self.home,
            env=self.environment(),
            capture_output=True,
            encoding="utf-8",
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    def environment(self) -> dict[str, str]:
        kept = ("PATH", "SYSTEMROOT", "TMPDIR", "TEMP", "LANG")
        passed = {name: os.environ[name] for name in kept if name in os.environ}
        places = ("HOME", "USERPROFILE", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "LOCALAPPDATA")
        return {**passed, **{name: str(self.home) for name in places}, "PYTHONUTF8": "1"}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The main and the weights wheel."""
    built = tmp_path_factory.mktemp("wheels")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    command += ["--no-build-isolation", "--disable-pip-version-check", "--wheel-dir", str(built)]
    subprocess.run([*command, str(ROOT), str(ROOT / "weights")], check=True, timeout=300)
    main = next(built.glob("secondlook_qa-0*.whl"))
    return {"main": main, "weights": next(built.glob("secondlook_qa_weights-*.whl"))}


@pytest.fixture(scope="module")
def installed(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("outside") / "venv"
    venv.create(folder, with_pip=False)
    made = Installed(folder, tmp_path_factory.mktemp("home"))
    command = [sys.executable, "-m", "pip", "--python", str(made.scripts / "python"), "install"]
    command += ["--quiet", "--no-deps", "--no-index", "--disable-pip-version-check"]
    subprocess.run([*command, *map(str, wheels.values())], check=True, timeout=300)
    # Put this environment's packages behind those of the wheels. Path files are not followed from a
    # folder that a path file names: where the two packages are installed here in editable form, the
    # clone stays out of reach.
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    site = folder / ("Lib" if os.name == "nt" else f"lib/{version}") / "site-packages"
    lent = dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib"))
    (site / "lent.pth").write_text("\n".join(lent), encoding="utf-8")
    return made


def _names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def test_main_wheel_holds_the_package_and_nothing_else(wheels: dict[str, Path]) -> None:
    names = _names(wheels["main"])
    tops = {name.split("/")[0] for name in names}
    assert tops == {"secondlook", "secondlook_qa-0.1.0.dist-info"}
    for wanted in ("py.typed", "samples/harbour-survey-2024.pdf"):
        assert f"secondlook/{wanted}" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not [name for name in names if "test" in name or name.endswith((".onnx", ".pyc"))]
    assert wheels["main"].stat().st_size < MAIN_LIMIT


def test_add_and_search_work_outside_the_clone(installed: Installed) -> None:
    notes = installed.home / "notes.md"
    notes.write_text("# Bees\n\nThe queen of hive 7 was marked blue in May.\n", encoding="utf-8")
    added = json.loads(installed.run("secondlook", "add", str(notes), "--json"))
    assert added["counts"]["added"] == 1
    found = json.loads(installed.run("secondlook", "search", "colour of the queen", "--json"))
    assert "marked blue" in found["hits"][0]["text"]
    assert found["hits"][0]["rerank_score"] is not None, "the reader did not run"
    status = json.loads(installed.run("secondlook", "status", "--json"))
    assert Path(status["path"]).is_relative_to(installed.home)


def test_page_is_served_outside_the_clone_and_without_node(installed: Installed) -> None:
    with _serving(installed) as client:
        page = client.get("/")
        assert page.status_code == 200
        assert "<title>Secondlook</title>" in page.text
        for name in _REFERRED.findall(page.text):
            assert client.get(name).status_code == 200, name
        assert client.get("/docs").status_code == 200
        assert client.get("/api/ready").json()["ready"] is True


@contextlib.contextmanager
def _serving(installed: Installed) -> Iterator[httpx.Client]:
    """A server of the installed wheel that finds no other program than those of its environment."""
    command = [str(installed.scripts / "secondlook"), "serve", "--port", "0", "--json", "--quiet"]
    environment = {**installed.environment(), "PATH": str(installed.scripts)}
    with subprocess.Popen(
        command, cwd=installed.home, env=environment, stdout=subprocess.PIPE, encoding="utf-8"
    ) as server:
        assert server.stdout is not None
        try:
            started = json.loads(server.stdout.readline())
            with httpx.Client(base_url=started["url"], timeout=60, trust_env=False) as client:
                yield client
        finally:
            server.terminate()
    assert server.returncode == 0


def test_nothing_that_we_say_installs_us_from_the_public_index() -> None:
    """The name `secondlook` is another program there: we are installed from a folder."""
    places = ("src", "docs", "examples", "scripts", "requirements", "training", "README.md")
    files = [
        file
        for place in (*places, "CONTRIBUTING.md", "Makefile", "weights/README.md", ".ci/run")
        for file in ([ROOT / place] if (ROOT / place).is_file() else (ROOT / place).rglob("*"))
        if file.is_file() and "assets" not in file.parts
    ]
    installing = r"(?:pip3? install|pipx \w+|uvx|uv (?:add|pip install|tool \w+))"
    by_name = re.compile(rf"{installing}(?: +[^\s`&|;]+)*? +[\"']?secondlook\b")
    texts = {file: file.read_bytes().decode("utf-8", "replace") for file in files}
    assert len(texts) > 300
    assert by_name.search('pip install -U "secondlook[web]"')
    assert not by_name.search("pip install ./weights . && secondlook demo")
    assert {
        file.name: found[0] for file, text in texts.items() if (found := by_name.search(text))
    } == {}
