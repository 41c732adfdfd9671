"""A library over HTTP in a test: files uploaded, and jobs waited for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from pathlib import Path

    import httpx
    from fastapi.testclient import TestClient

Client: TypeAlias = "httpx.Client | TestClient"

OWN = {"X-Secondlook": "1"}
LIBRARY = "/api/libraries/default"
HARBOUR = (
    "# Harbour survey\n\n## Depths\n\n"
    "The depth of berth 4 was measured at 7.5 metres in May 2024. "
    "The survey was carried out by the Northern Dredging Company in 2024. "
    "The harbour gate was closed for repairs during the survey.\n"
)
SALES = "region,price,units\n" + "".join(
    f"{region},{10 + at}.5,{at + 1}\n" for at, region in enumerate(["North", "South", "East"] * 20)
)


def post(client: Client, *files: tuple[str, bytes | str], **options: Any) -> Any:
    sent = [
        ("files", (name, data.encode() if isinstance(data, str) else data)) for name, data in files
    ]
    return client.post(f"{LIBRARY}/documents", files=sent, headers=OWN, **options)


def uploaded(client: Client, *files: tuple[str, bytes | str]) -> dict[str, Any]:
    """The job of an upload, once it has ended."""
    response = post(client, *files)
    assert response.status_code == 202, response.text
    return ended(client, response.json()["id"])


def ended(client: Client, job: str) -> dict[str, Any]:
    return followed(client, job)[-1]


def followed(client: Client, job: str) -> list[dict[str, Any]]:
    """Every event of a job."""
    response = client.get(f"{LIBRARY}/jobs/{job}/events")
    assert response.status_code == 200, response.text
    lines = response.text.splitlines()
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]


def documents(client: Client, **query: Any) -> dict[str, dict[str, Any]]:
    """What is listed, by file name."""
    response = client.get(f"{LIBRARY}/documents", params=query)
    assert response.status_code == 200, response.text
    return {item["name"]: item for item in response.json()["documents"]}


def stored(folder: Path) -> list[str]:
    """Everything in the folder of uploads, what is on its way included."""
    uploads = folder / "library" / "uploads"
    return sorted(str(item.relative_to(uploads)) for item in uploads.rglob("*"))


def only(job: dict[str, Any]) -> dict[str, Any]:
    (file,) = job["files"]
    return dict(file)
