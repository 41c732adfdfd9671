"""A copy of a library in object storage, for readers on other machines.

Everything lies there before `library.json` names it, and nothing that it named before goes away
earlier: a reader finds the old publication or the new one. Only what changed is sent.
"""

from __future__ import annotations

import json
import re
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secondlook.errors import LibraryError, LibraryFormat, UsageError
from secondlook.library import manifest as manifests
from secondlook.library.bucket import Bucket
from secondlook.library.tables import FOLDER as TABLES
from secondlook.reading.calibration import CALIBRATION_FILE

if TYPE_CHECKING:
    from secondlook.library.catalog import Catalog

PUBLISHED = "published"
"""Key of the manifest in the bucket: which publication it is."""
_TEXTS = "texts"
_INDEX_COMMITS = "/index/_versions/"
_CHANGES_UNDER_ITS_NAME = re.compile(rf"{TABLES}/records/.*|{TABLES}/.*\.json|{CALIBRATION_FILE}")
_UNFINISHED = re.compile(r"(^|/)\.|\.partial-")


@dataclass(frozen=True, slots=True)
class Publication:
    address: str
    number: int
    sent: int
    """Files that were not there yet."""
    bytes: int


def catalog_name(number: int) -> str:
    return f"catalogs/{number}.db"


def read_published(bucket: Bucket) -> dict[str, Any] | None:
    """The manifest in a bucket; None where nothing was published."""
    data = bucket.read(manifests.FILE_NAME)
    if data is None:
        return None
    try:
        said = json.loads(data)
        number = said[PUBLISHED]
    except (ValueError, LookupError, TypeError) as error:
        raise LibraryFormat(
            f"{bucket.address}/{manifests.FILE_NAME} was not written by secondlook publish",
            hint="publish the library there again, or name another address",
        ) from error
    if said.get("format") != manifests.FORMAT or not isinstance(number, int):
        raise LibraryFormat(
            f"{bucket.address} has format {said.get('format')!r}; "
            f"this version reads format {manifests.FORMAT}",
            hint="upgrade secondlook on the machine whose version is older",
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
    wanted = _files(library, manifests.generation_folder(library, manifest.generation).name)
    due = [name for name, file in wanted.items() if _is_due(name, file, held)]
    for name in sorted(due, key=lambda name: _INDEX_COMMITS in name):
        bucket.send(wanted[name], name)
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "catalog.db"
        catalog.copy_to(copy)
        bucket.send(copy, catalog_name(number))
        size = copy.stat().st_size
    said = {**asdict(manifest), PUBLISHED: number}
    bucket.write(manifests.FILE_NAME, json.dumps(said, indent=2).encode())
    kept = {*wanted, manifests.FILE_NAME, catalog_name(number), catalog_name(number - 1)}
    for name in sorted(set(held) - kept):
        bucket.delete(name)
    total = size + sum(wanted[name].stat().st_size for name in due)
    return Publication(bucket.address, number, len(due) + 1, total)


def _number(bucket: Bucket, created: str, held: dict[str, int]) -> int:
    said = read_published(bucket)
    if said is None:
        if held:
            raise UsageError(
                f"{bucket.address} is not a library and not empty (it holds {min(held)!r})",
                hint="name another place: s3://BUCKET/PREFIX",
            )
        return 1
    if said.get("created") != created:
        raise UsageError(
            f"another library is published at {bucket.address}",
            hint="name another place: s3://BUCKET/PREFIX",
        )
    return int(said[PUBLISHED]) + 1


def _files(library: Path, generation: str) -> dict[str, Path]:
    """What a reader needs, but for the catalog. Original files stay where they are."""
    folders = (library / _TEXTS, library / TABLES, library / generation / "index")
    files = [file for folder in folders for file in folder.rglob("*") if file.is_file()]
    files += [file for file in (library / CALIBRATION_FILE,) if file.is_file()]
    named = {file.relative_to(library).as_posix(): file for file in files}
    return {name: file for name, file in named.items() if not _UNFINISHED.search(name)}


def _is_due(name: str, file: Path, held: dict[str, int]) -> bool:
    """Most files never change once they have their name."""
    if _CHANGES_UNDER_ITS_NAME.fullmatch(name):
        return True
    return held.get(name) != file.stat().st_size
