"""What the OpenAPI document promises holds for whatever is sent: no failure of the server, no
answer in another form, no status that is not told."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.library_http import HARBOUR, LIBRARY, SALES, uploaded
from tests.support.schema_hooks import THINGS
from tests.support.serving import Serving, served

SOAK = bool(os.environ.get("SECONDLOOK_SOAK"))
OPERATIONS = 35
"""There are more; fewer would mean that the document lost some."""
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("schema")
    with served(folder, serve={"metrics": True}, answer={"workflow": "linear"}) as serving:
        yield serving


@pytest.fixture(scope="module")
def client(server: Serving) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.base_url, timeout=120) as client:
        yield client


@pytest.fixture(scope="module")
def things(client: httpx.Client) -> dict[str, Any]:
    """One of each that there is, by the name that paths call it."""
    job = uploaded(client, ("survey.md", HARBOUR), ("sales.csv", SALES), ("bad.pdf", b"%PDF-"))
    hit = client.post(f"{LIBRARY}/search", json={"query": "depth of berth 4"}).json()["hits"][0]
    table = client.get(f"{LIBRARY}/tables").json()[0]
    asked = {"question": "Plot the mean price by region", "workflow": "analyst"}
    chart = client.post("/api/ask", json=asked).json()
    assert chart["analysis"]["figures"], chart["text"]
    return {
        "library": "default",
        "document": hit["document"],
        "passage": hit["passage"],
        "table": table["id"],
        "job": job["id"],
        "run": chart["run"],
        "number": 0,
        "name": "corrective",
        "model": "secondlook-linear",
    }


@pytest.mark.unmeasured
def test_what_is_promised_holds(server: Serving, things: dict[str, Any], tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "run", f"{server.base_url}/openapi.json"),
        *("--header", "X-Secondlook: 1", "--seed", "20240229", "--generation-database", "none"),
        *("--max-examples", "200" if SOAK else "1", "--request-timeout", "60", "--no-color"),
        *(
            "--phases",
            "examples,coverage,fuzzing,stateful" if SOAK else "fuzzing",
            "--continue-on-failure",
        ),
        *("--report-json-path", str(report), "--warnings", "off"),
    ]
    told = {
        "SCHEMATHESIS_HOOKS": "tests.support.schema_hooks",
        "PYTHONPATH": str(ROOT),
        THINGS: json.dumps(things),
    }
    done = subprocess.run(
        command, env={**os.environ, **told}, cwd=tmp_path, capture_output=True, text=True,
        encoding="utf-8", check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    told_of = json.loads(report.read_text("utf-8"))
    assert told_of["complete"]
    assert told_of["operations"]["tested"] == told_of["operations"]["total"] > OPERATIONS
    assert httpx.get(f"{server.base_url}/api/ready").status_code == 200
