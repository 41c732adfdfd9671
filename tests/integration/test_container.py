"""What a container would do, step by step: its files are there, the image's steps install the
program, and an ordinary user runs what it starts, with its health check."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import httpx

from tests.support.ordinary_user import as_ordinary_user, home_of_ordinary_user

ROOT = Path(__file__).parents[2]
TOKEN = "0123456789abcdef"  # noqa: S105 - of a server that lives as long as the test
PROGRAM = [sys.executable, "-P", "-m", "secondlook"]


def steps() -> list[tuple[str, str]]:
    """Of the Containerfile: each instruction and what follows it."""
    text = (ROOT / "Containerfile").read_text("utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in lines)]


def of(name: str) -> list[str]:
    return [rest for found, rest in steps() if found == name]


def test_an_image_is_made_of_what_is_in_the_repository() -> None:
    let_in = set(
        re.findall(r"^!(\S+)$", (ROOT / ".containerignore").read_text("utf-8"), re.MULTILINE)
    )
    copied = [one.split()[:-1] for one in of("COPY") if not one.startswith("--from")]
    for source in (source for sources in copied for source in sources):
        assert (ROOT / source).exists()
        assert source.split("/")[0] in let_in
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = next(one.removeprefix("EXTRAS=") for one in of("ARG"))
    assert set(wanted.split(",")) <= extras["optional-dependencies"].keys()


def test_an_ordinary_user_runs_what_the_container_starts_and_its_health_check() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (health,) = (one.partition("CMD ")[2] for one in of("HEALTHCHECK"))
    check = [sys.executable, *json.loads(health.replace("8765", str(port)))[1:]]
    assert json.loads(of("ENTRYPOINT")[0]) == ["secondlook"]
    command = [*PROGRAM, *json.loads(of("CMD")[0]), "--port", str(port)]
    with home_of_ordinary_user() as env:
        env |= {"SECONDLOOK_TOKEN": TOKEN, "PYTHONDONTWRITEBYTECODE": "1"}
        started = subprocess.Popen(as_ordinary_user(command), env=env, cwd=env["HOME"])
        try:
            ends = time.monotonic() + 120
            while subprocess.run(check, capture_output=True, check=False).returncode:
                assert started.poll() is None
                assert time.monotonic() < ends
            page = f"http://127.0.0.1:{port}"
            assert httpx.get(f"{page}/api/runs").status_code == 401
            known = {"Authorization": f"Bearer {TOKEN}"}
            assert httpx.get(f"{page}/api/runs", headers=known).status_code == 200
            assert httpx.get(page).status_code == 200
        finally:
            started.send_signal(signal.SIGTERM)
            assert started.wait(60) == 0
        kept = [one for one in Path(env["HOME"]).rglob("*") if one.is_file()]
        assert all(one.stat().st_mode & 0o077 == 0 for one in kept)


if os.environ.get("SECONDLOOK_SOAK"):  # it installs everything again

    def test_the_steps_of_the_image_install_the_program(tmp_path: Path) -> None:
        for source in ("requirements", "weights", "src", "pyproject.toml", "README.md", "LICENSE"):
            copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copy
            copy(ROOT / source, tmp_path / source)
        place = tmp_path / "opt"
        for step in of("RUN"):
            if "useradd" not in step:  # there is no second account to make here
                made = step.replace("/opt/secondlook", str(place))
                env = os.environ | {"EXTRAS": "analyst,web,postgres"}
                subprocess.run(["bash", "-c", made], cwd=tmp_path, env=env, check=True)
        said = subprocess.run(
            [place / "bin" / "secondlook", "--help"], capture_output=True, check=True
        )
        assert b"serve" in said.stdout
