"""A copy of a library in object storage. Everything lies there before `library.json` names it, and
nothing it named goes away earlier: a reader finds the old publication or the new one."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import tempfile
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import platformdirs

from secondlook.errors import (
    LibraryBusy,
    LibraryDamaged,
    LibraryError,
    LibraryFormat,
    LibraryMissing,
    LibraryReadOnly,
    LibraryUnreachable,
    UsageError,
)
from secondlook.files import make_folder, writing
from secondlook.library import manifest as manifests
from secondlook.library.catalog import Catalog, DocumentRow, TextStore
from secondlook.library.tables import FOLDER as TABLES
from secondlook.reading.calibration import CALIBRATION_FILE
from secondlook.settings.sections import place_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secondlook.document import Extracted
    from secondlook.library.manifest import Manifest

PUBLISHED = "published"  # key of the manifest in the bucket: which publication it is
_CHANGES_UNDER_ITS_NAME = re.compile(rf"{TABLES}/records/.*|{TABLES}/.*\.json|{CALIBRATION_FILE}")
_UNFINISHED = re.compile(r"(^|/)\.|\.partial-")


@dataclass(frozen=True, slots=True)
class Publication:
    address: str
    number: int
    sent: int  # files that were not there yet
    bytes: int


def read_published(bucket: Bucket) -> dict[str, Any] | None:
    data = bucket.read(manifests.FILE_NAME)
    if data is None:
        return None
    said: Any = None
    with contextlib.suppress(ValueError):
        said = json.loads(data)
    found = (said.get("format"), said.get(PUBLISHED)) if isinstance(said, dict) else (None, None)
    if found[0] != manifests.FORMAT or not isinstance(found[1], int):
        raise LibraryFormat(
            f"{bucket.address}/{manifests.FILE_NAME} has format {found[0]!r}; "
            f"this version reads format {manifests.FORMAT}",
            hint="upgrade secondlook on the machine whose version is older, or publish again",
        )
    return dict(said)


def publish(library: Path, catalog: Catalog, address: str) -> Publication:
    """Called by who holds the write lock: nothing changes meanwhile."""
    manifest = manifests.read(library)
    if manifest.index != manifests.EMBEDDED:
        raise LibraryError(
            f"the passages of {str(library)!r} lie in Milvus, which other machines reach as it is",
            hint='secondlook rebuild with library.index = "embedded" brings them back first',
        )
    bucket = Bucket(address)
    held = bucket.sizes()
    number = _number(bucket, manifest.created, held)
    # What a reader needs, but for the catalog. Original files stay where they are.
    index = manifests.generation_folder(library, manifest.generation) / "index"
    files = [
        file for top in (library / "texts", library / TABLES, index) for file in top.rglob("*")
    ]
    named = {
        file.relative_to(library).as_posix(): file
        for file in [*files, library / CALIBRATION_FILE]
        if file.is_file()
    }
    wanted = {name: file for name, file in named.items() if not _UNFINISHED.search(name)}
    due = [
        name
        for name, file in wanted.items()
        if _CHANGES_UNDER_ITS_NAME.fullmatch(name) or held.get(name) != file.stat().st_size
    ]
    for name in sorted(due, key=lambda name: "/index/_versions/" in name):
        bucket.send(wanted[name], name)
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "catalog.db"
        catalog.copy_to(copy)
        bucket.send(copy, f"catalogs/{number}.db")
        size = copy.stat().st_size
    said = {**asdict(manifest), PUBLISHED: number}
    bucket.write(manifests.FILE_NAME, json.dumps(said, indent=2).encode())
    kept = {*wanted, manifests.FILE_NAME, f"catalogs/{number}.db", f"catalogs/{number - 1}.db"}
    for name in sorted(set(held) - kept):
        bucket.delete(name)
    total = size + sum(wanted[name].stat().st_size for name in due)
    return Publication(bucket.address, number, len(due) + 1, total)


def _number(bucket: Bucket, created: str, held: dict[str, int]) -> int:
    said = read_published(bucket)
    if said is None and not held:
        return 1
    if said is not None and said.get("created") == created:
        return int(said[PUBLISHED]) + 1
    raise UsageError(
        f"another library is published at {bucket.address}"
        if said is not None
        else f"{bucket.address} is not a library and not empty (it holds {min(held)!r})",
        hint="name another place: s3://BUCKET/PREFIX",
    )


# Reading a library that was published to object storage, from any machine.

PUBLISH_AGAIN = "publish it again: secondlook publish"


def refuse_change(place: str | Path) -> None:
    """A published copy can be read, not changed. `place` is its address, or its folder."""
    if not names_bucket(place):
        with contextlib.suppress(LibraryMissing, LibraryDamaged, LibraryFormat):
            place = address_of(manifests.read(Path(place)))
    if names_bucket(place):
        raise LibraryReadOnly(
            f"the library at {place_of(Path(place))} is a published copy: "
            "it can be read, not changed",
            hint="change the library that it was published from, then secondlook publish",
        )


def address_of(manifest: Manifest) -> str:
    return manifest.index.rpartition("/g")[0]


def mirror(address: str) -> Path:
    """The folder that what is published at this address is read from."""
    chosen = os.environ.get("SECONDLOOK_CACHE")
    cache = Path(chosen) if chosen else Path(platformdirs.user_cache_dir("secondlook"))
    return cache / "published" / hashlib.sha256(address.encode()).hexdigest()[:16]


def mirrored(address: str | Path) -> Path:
    bucket = Bucket(address)
    folder = mirror(bucket.address)
    make_folder(folder)
    follow(bucket, folder)
    return folder


def follow(bucket: Bucket, folder: Path) -> None:
    """Bring the folder up to the newest publication. Processes may do so side by side."""
    for _ in range(5):
        said = read_published(bucket)
        if said is None:
            raise LibraryMissing(
                f"there is no library at {bucket.address}",
                hint=f"secondlook publish {bucket.address} puts one there",
            )
        number = said[PUBLISHED]
        if _held(folder) == (said.get("created"), number):
            return
        known = {field.name for field in fields(manifests.Manifest)}
        raw = {name: value for name, value in said.items() if name in known}
        index = f"{bucket.address}/g{said['generation']}/index"
        manifest = manifests.Manifest(**{**raw, "generation": number, "index": index})
        if _copied(bucket, folder, number):
            manifests.write(folder, manifest)
            for old in folder.glob("g[0-9]*"):
                if int(old.name[1:]) < number - 1:
                    shutil.rmtree(old, ignore_errors=True)
            return
    raise LibraryBusy(
        f"{bucket.address} is published anew faster than it can be read", hint="try again"
    )


def _held(folder: Path) -> tuple[object, object] | None:
    try:
        raw = manifests.read_raw(folder)
    except LibraryError:
        return None
    return raw.get("created"), raw.get("generation")


def _copied(bucket: Bucket, folder: Path, number: int) -> bool:
    catalog = manifests.generation_folder(folder, number) / "catalog.db"
    if not catalog.exists() and not bucket.fetch(f"catalogs/{number}.db", catalog):
        return False
    held = bucket.sizes(TABLES)
    for name, size in held.items():
        target = folder / name
        if target.suffix == ".json" or not target.exists() or target.stat().st_size != size:
            bucket.fetch(name, target)
    if not bucket.fetch(CALIBRATION_FILE, folder / CALIBRATION_FILE):
        (folder / CALIBRATION_FILE).unlink(missing_ok=True)
    for file in (folder / TABLES).rglob("*"):
        if file.is_file() and file.relative_to(folder).as_posix() not in held:
            file.unlink(missing_ok=True)
    return True


class FetchedTexts(TextStore):
    def __init__(self, folder: Path, address: str) -> None:
        super().__init__(folder)
        self._bucket = Bucket(address)

    def read(self, row: DocumentRow) -> Extracted:
        file = self.file(row.sha256, row.parser)
        if not file.exists():
            self._bucket.fetch(f"texts/{file.parent.name}/{file.name}", file)
        return super().read(row)


# A place in object storage: `s3://BUCKET/PREFIX`, at Amazon or at any service that speaks S3.

_ADDRESS = re.compile(r"s3:/{1,2}(?P<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:/(?P<prefix>.*))?")
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
_REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
_CONNECTING, _PATIENCE = 10.0, 120.0
_BLOCK = 8 << 20
_AWAY = re.compile(r"NETWORK_CONNECTION|SLOW_DOWN|SERVICE_UNAVAILABLE|INTERNAL_FAILURE|curlCode")


def names_bucket(path: str | Path) -> bool:
    return str(path).startswith("s3:")


class Bucket:
    """What lies below one address. Names are relative to it, with `/` between their parts."""

    def __init__(self, address: str | Path) -> None:
        found = _ADDRESS.fullmatch(str(address))  # a Path has made one slash of two
        if not found:
            raise UsageError(
                f"{str(address)!r} is not an address in object storage",
                hint="write s3://BUCKET/PREFIX; the name of a bucket has 3 to 63 small letters, "
                "digits, dots and hyphens",
            )
        prefix = (found["prefix"] or "").strip("/")
        self._root = f"{found['bucket']}/{prefix}".rstrip("/")
        self.address = f"s3://{self._root}"
        from pyarrow.fs import S3FileSystem

        options: dict[str, Any] = {"region": _first(_REGIONS) or "us-east-1"}
        if endpoint := _first(_ENDPOINTS):
            parts = urlsplit(endpoint)
            options |= {
                "endpoint_override": parts.netloc or endpoint,
                "scheme": parts.scheme or "https",
            }
        self._files = S3FileSystem(
            connect_timeout=_CONNECTING,
            request_timeout=_PATIENCE,
            background_writes=False,
            **options,
        )

    def read(self, name: str) -> bytes | None:
        with self._explained():
            try:
                with self._files.open_input_stream(self._path(name)) as stream:
                    return bytes(stream.read())
            except FileNotFoundError:
                return None

    def fetch(self, name: str, target: Path) -> bool:
        """Copy it into a file, whole or not at all; whether it was there."""
        make_folder(target.parent)
        try:
            with (
                self._explained(),
                self._files.open_input_stream(self._path(name)) as stream,
                writing(target) as copy,
            ):
                shutil.copyfileobj(stream, copy, _BLOCK)
        except FileNotFoundError:
            return False
        return True

    def write(self, name: str, data: bytes) -> None:
        with self._explained(), self._files.open_output_stream(self._path(name)) as out:
            out.write(data)

    def send(self, file: Path, name: str) -> None:
        with (
            self._explained(),
            file.open("rb") as source,
            self._files.open_output_stream(self._path(name)) as out,
        ):
            shutil.copyfileobj(source, out, _BLOCK)

    def sizes(self, below: str = "") -> dict[str, int]:
        from pyarrow.fs import FileSelector

        selector = FileSelector(self._path(below), recursive=True, allow_not_found=True)
        with self._explained():
            found = self._files.get_file_info(selector)
        start = len(self._root) + 1
        named = {info.path[start:]: info.size for info in found if info.is_file}
        return {name: size for name, size in named.items() if ".." not in name.split("/")}

    def delete(self, name: str) -> None:
        with self._explained():
            self._files.delete_file(self._path(name))

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}".rstrip("/")

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise
        except OSError as error:
            said = " ".join(str(error).split())[:300]
            if _AWAY.search(said):
                raise LibraryUnreachable(
                    f"{self.address} does not answer: {said}",
                    hint="check the network and AWS_ENDPOINT_URL; nothing stored is lost",
                ) from error
            raise LibraryError(
                f"{self.address} refused: {said}",
                hint="check the bucket's name, AWS_REGION and the keys "
                "(AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY)",
            ) from error


def storage_options() -> dict[str, str]:
    """The same place and region, as Lance takes them; keys it finds by itself."""
    options = {"aws_region": _first(_REGIONS) or "us-east-1"}
    if endpoint := _first(_ENDPOINTS):
        options["aws_endpoint"] = endpoint
        options["aws_allow_http"] = str(endpoint.startswith("http://")).lower()
    return options


def _first(names: tuple[str, ...]) -> str | None:
    return next((os.environ[name] for name in names if os.environ.get(name)), None)
