"""GGUF files from the Hugging Face hub, or a mirror named by HF_ENDPOINT: fetched on request only,
resumed where a fetch broke off, and kept only if their SHA-256 is the one the hub gives."""

from __future__ import annotations

import hashlib
import os
import shutil
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import platformdirs

from secondlook.errors import ModelError, ModelUnavailable, UsageError
from secondlook.settings.sections import APP_NAME

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx

QUANTISED = "q4_k_m.gguf"  # The usual trade of size for quality; a repository holds a dozen others
HUB = "https://huggingface.co"
_PARTS = "-of-"
_SECONDS = 20.0
_TRIES = 5  # Connections in a row that bring nothing new
_BLOCK = 1 << 16
_SPARE = 1 << 28  # Bytes of the disk that a fetch leaves free


@dataclass(frozen=True, slots=True)
class Known:
    """A model of the short list. Sizes in gigabytes, of the file and of the memory it takes."""

    name: str
    repo: str
    licence: str
    gigabytes: float
    memory: float
    about: str


@dataclass(frozen=True, slots=True)
class HubFile:
    """One file as the hub describes it."""

    repo: str
    revision: str
    path: str
    size: int
    sha256: str
    licence: str | None


@cache
def known_models() -> dict[str, Known]:
    text = (files("secondlook.models") / "hub.toml").read_text("utf-8")
    return {name: Known(name, **entry) for name, entry in tomllib.loads(text).items()}


def models_folder() -> Path:
    return Path(platformdirs.user_data_dir(APP_NAME, appauthor=False)) / "models"


def place(name: str) -> tuple[str, str | None]:
    """The repository and the file that `qwen3-4b`, `OWNER/REPO` or `OWNER/REPO/FILE.gguf` names."""
    if name in known_models():
        return known_models()[name].repo, None
    owner, _, rest = name.partition("/")
    repo, _, file = rest.partition("/")
    if not owner or not repo or (file and not _is_gguf(file)):
        hint = f"Known are {', '.join(known_models())}; others as OWNER/REPO or OWNER/REPO/FILE"
        raise UsageError(f"{name!r} is no model that can be fetched", hint=f"{hint}.gguf.")
    return f"{owner}/{repo}", file or None


def described(name: str) -> HubFile:
    """What the hub says of the file. Raises ModelUnavailable where it cannot be asked."""
    import httpx

    repo, wanted = place(name)
    try:
        with _client() as client:
            reply = client.get(f"/api/models/{repo}", params={"blobs": "true"})
            _refused(reply, repo)
            info: dict[str, Any] = reply.json()
    except (httpx.HTTPError, ValueError) as error:
        raise _unreachable(repo, error) from error
    held = [one for one in info.get("siblings", ()) if _is_gguf(one["rfilename"])]
    found = [
        one
        for one in held
        if (one["rfilename"] == wanted if wanted else one["rfilename"].lower().endswith(QUANTISED))
    ]
    if not found:
        names = ", ".join(one["rfilename"] for one in held[:8]) or "none"
        said = f"{repo} holds no {wanted or f'*{QUANTISED}'}"
        raise ModelError(said, hint=f"Its GGUF files: {names}.")
    path, lfs = found[0]["rfilename"], found[0].get("lfs") or {}
    if _PARTS in path:
        hint = "Name a file of another size: OWNER/REPO/FILE.gguf."
        raise ModelError(f"{path} comes in several parts", hint=hint)
    if not lfs.get("sha256") or not lfs.get("size"):
        raise ModelError(f"the hub gives no SHA-256 for {path}", hint="Nothing was fetched.")
    licence = (info.get("cardData") or {}).get("license")
    return HubFile(repo, info["sha"], path, lfs["size"], lfs["sha256"], licence)


def fetched(
    file: HubFile,
    folder: Path | None = None,
    *,
    listen: Callable[[int], None] = lambda _: None,
    checking: Callable[[], None] = lambda: None,
) -> Path:
    """The file on this machine: the one that is there, or fetched now. `listen` hears how many
    bytes are there, and may raise to stop; `checking` is called before a hash is computed."""
    folder = folder or models_folder()
    kept = folder / PurePosixPath(file.path).name
    if kept.is_file() and kept.stat().st_size == file.size:
        checking()
        if _sha256(kept) == file.sha256:
            return kept
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f"{kept.name}.{file.sha256[:12]}.part"
    there, free = part.stat().st_size if part.exists() else 0, shutil.disk_usage(folder).free
    if file.size - there + _SPARE > free:
        need, left = f"{file.size / 1e9:.1f} GB", f"{free / 1e9:.1f} GB"
        hint = "Free some space, or name another folder with --to."
        raise ModelError(f"{kept.name} needs {need}, and {folder} has {left} left", hint=hint)
    _download(file, part, listen)
    checking()
    if _sha256(part) != file.sha256:
        part.unlink()
        hint = "It was thrown away. Fetch it again; if that fails too, do not use this source."
        raise ModelError(f"{kept.name} is not the file that the hub describes", hint=hint)
    part.replace(kept)
    return kept


def _download(file: HubFile, part: Path, listen: Callable[[int], None]) -> None:
    """Bytes that are there already are not asked for again."""
    import httpx

    tries, last = _TRIES, httpx.HTTPError("nothing came")
    with _client() as client, part.open("ab") as held:
        while (there := held.tell()) < file.size:
            if not tries:
                raise _unreachable(file.repo, last)
            tries -= 1
            listen(there)
            address = f"/{file.repo}/resolve/{file.revision}/{file.path}"
            span = {"Range": f"bytes={there}-"} if there else {}
            try:
                with client.stream("GET", address, headers=span) as reply:
                    _refused(reply, file.repo)
                    if there and reply.status_code != httpx.codes.PARTIAL_CONTENT:
                        held.truncate(0)
                    for block in reply.iter_raw(_BLOCK):
                        held.write(block)
                        listen(held.tell())
                        tries = _TRIES
            except httpx.HTTPError as error:
                last = error
            held.flush()


def _client() -> httpx.Client:
    import httpx

    token = os.environ.get("HF_TOKEN", "").strip()
    return httpx.Client(
        base_url=os.environ.get("HF_ENDPOINT", "").strip() or HUB,
        headers={"Authorization": f"Bearer {token}"} if token else {},
        timeout=_SECONDS,
        follow_redirects=True,
    )


def _refused(reply: httpx.Response, repo: str) -> None:
    if reply.status_code in {401, 403, 404}:
        hint = "Check the name; where terms must be accepted or it is private, set HF_TOKEN."
        raise ModelError(f"the hub gives no {repo} (HTTP {reply.status_code})", hint=hint)
    reply.raise_for_status()


def _unreachable(repo: str, error: Exception) -> ModelUnavailable:
    hint = "What was fetched is kept: the same command goes on there. HF_ENDPOINT names a mirror."
    return ModelUnavailable(f"{repo} could not be fetched: {error or type(error)}", hint=hint)


def _is_gguf(path: str) -> bool:
    return path.lower().endswith(".gguf")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
