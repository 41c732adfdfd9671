"""The peers' own virtual environment: what is in it, and how a worker is started there."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / ".cache" / "peers"
ENVIRONMENT = CACHE / "venv"
PEERS = {
    "llamaindex": ("llama-index-core==0.14.25", "llama-index-retrievers-bm25==0.8.0"),
    "haystack": ("haystack-ai==3.4.0",),
    "langchain": (
        "langchain-core==1.7.2",
        "langchain-community==0.4.2",
        "langchain-classic==1.0.8",
        "faiss-cpu==1.15.1",
        "rank-bm25==0.2.2",
    ),
    # Where an index offers a build of torch for processors alone (2.13.0+cpu), pip takes that one.
    "txtai": ("txtai==9.14.0", "torch==2.13.0", "faiss-cpu==1.15.1"),
}
EMBEDDER = ("numpy", "onnxruntime", "tokenizers")
"""What the shared embedder runs on: in the very versions that Secondlook itself runs on here."""
SILENT = {
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "LANGCHAIN_TRACING_V2": "false",
    "LANGSMITH_TRACING": "false",
    "ANONYMIZED_TELEMETRY": "False",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "ORT_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
}
"""No system reports to its makers; the worker refuses connections besides."""


def install(peers: list[str]) -> None:
    if not python().exists():
        venv.create(ENVIRONMENT, with_pip=True)
    pip = [str(python()), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    wanted = [requirement for peer in peers for requirement in PEERS[peer]]
    subprocess.run([*pip, *wanted, *as_here(EMBEDDER)], check=True)
    print(f"installed {', '.join(peers)} into {ENVIRONMENT.relative_to(ROOT)}")


def as_here(distributions: tuple[str, ...]) -> list[str]:
    from importlib.metadata import version

    return [f"{name}=={version(name)}" for name in distributions]


def python() -> Path:
    inside = Path("Scripts/python.exe") if os.name == "nt" else Path("bin/python")
    return ENVIRONMENT / inside


def interpreter(system: str) -> str:
    return str(python()) if system in PEERS else sys.executable


def environment() -> dict[str, str]:
    """Of every worker. Secondlook is found by its path: it is not installed beside the peers."""
    paths = (ROOT, ROOT / "src", ROOT / "weights" / "src")
    return os.environ | SILENT | {"PYTHONPATH": os.pathsep.join(map(str, paths))}
