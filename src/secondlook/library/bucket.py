"""A place in object storage: `s3://BUCKET/PREFIX`, at Amazon or at any service that speaks S3.

Keys, region and address come from the usual variables of AWS and are never written anywhere.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from secondlook.errors import LibraryError, LibraryUnreachable, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyarrow.fs import S3FileSystem

SCHEME = "s3:"
_ADDRESS = re.compile(r"s3:/{1,2}(?P<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:/(?P<prefix>.*))?")
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
_REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
_CONNECTING, _PATIENCE = 10.0, 120.0
_BLOCK = 8 << 20
_AWAY = re.compile(r"NETWORK_CONNECTION|SLOW_DOWN|SERVICE_UNAVAILABLE|INTERNAL_FAILURE|curlCode")


def names_bucket(path: str | Path) -> bool:
    return str(path).startswith(SCHEME)


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
        self._files = _filesystem()

    def read(self, name: str) -> bytes | None:
        """None where nothing has that name."""
        with self._explained():
            try:
                with self._files.open_input_stream(self._path(name)) as stream:
                    return bytes(stream.read())
            except FileNotFoundError:
                return None

    def fetch(self, name: str, target: Path) -> bool:
        """Copy it into a file, whole or not at all; whether it was there."""
        partial = target.with_name(f".{target.name}.partial-{os.getpid()}")
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with (
                self._explained(),
                self._files.open_input_stream(self._path(name)) as stream,
                partial.open("wb") as copy,
            ):
                while block := stream.read(_BLOCK):
                    copy.write(block)
            partial.replace(target)
        except FileNotFoundError:
            return False
        finally:
            partial.unlink(missing_ok=True)
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
            while block := source.read(_BLOCK):
                out.write(block)

    def sizes(self, below: str = "") -> dict[str, int]:
        """Every name with its size, those in folders too."""
        from pyarrow.fs import FileSelector

        selector = FileSelector(self._path(below), recursive=True, allow_not_found=True)
        with self._explained():
            found = self._files.get_file_info(selector)
        start = len(self._root) + 1
        return {info.path[start:]: info.size for info in found if info.is_file}

    def delete(self, name: str) -> None:
        with self._explained():
            self._files.delete_file(self._path(name))

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}".rstrip("/")

    @contextmanager
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
    options = {"aws_region": _region()}
    if endpoint := _first(_ENDPOINTS):
        options["aws_endpoint"] = endpoint
        options["aws_allow_http"] = str(endpoint.startswith("http://")).lower()
    return options


def _filesystem() -> S3FileSystem:
    from pyarrow.fs import S3FileSystem

    options: dict[str, Any] = {"region": _region()}
    if endpoint := _first(_ENDPOINTS):
        parts = urlsplit(endpoint)
        options |= {
            "endpoint_override": parts.netloc or endpoint,
            "scheme": parts.scheme or "https",
        }
    return S3FileSystem(
        connect_timeout=_CONNECTING,
        request_timeout=_PATIENCE,
        background_writes=False,
        **options,
    )


def _region() -> str:
    return _first(_REGIONS) or "us-east-1"


def _first(names: tuple[str, ...]) -> str | None:
    return next((os.environ[name] for name in names if os.environ.get(name)), None)
