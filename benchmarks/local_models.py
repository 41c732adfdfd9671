"""How fast models in GGUF files read and write on this machine, through our own worker.

    python -m benchmarks.local_models smollm2 coder-0.5b coder-1.5b

Takes names that `scripts/fetch_test_model.py` knows, or paths. For each: seconds to start, tokens
per second read (a fresh prompt) and written, seconds to the first token with and without the
prompt cache, the share of replies under a JSON schema that parse, and the tokens that such a
reply takes. Writes `benchmarks/results/local_models.json`. Other load on the machine is in the
figures: the load average is noted beside them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import time
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from scripts.fetch_test_model import MODELS, default_folder
from secondlook.models.gguf import GgufChat
from secondlook.models.gguf.chat import available_cores
from secondlook.models.port import ChatRequest, Message

RESULTS = Path(__file__).parent / "results" / "local_models.json"
STABLE = Message("system", "You answer from the evidence alone, briefly, and name the passage.")
FACTS = (
    "The north quay was measured in spring; its deepest berth is 14.2 metres at low tide.",
    "Dredging of the inner basin was finished in October 2021 and cost 3.4 million euros.",
    "Sourdough rests for eighteen hours at 21 degrees before it is shaped and baked.",
    "The lighthouse keeper counted 212 ships in March, a third fewer than the year before.",
    "Pilots are paid per ship and hour; the tariff was last raised by the council in 2019.",
)
QUESTIONS = (
    "How deep is the deepest berth?",
    "What did the dredging cost?",
    "How long does the dough rest?",
    "How many ships were counted in March?",
    "When was the tariff raised?",
)
WRITTEN_TOKENS = 48


class Graded(BaseModel):
    passage: int = Field(ge=1, le=5)
    reason: str = Field(max_length=120)
    relevant: bool


def prompt(question: str, *, salt: str) -> tuple[Message, ...]:
    evidence = "\n".join(f"[{at}] {fact} {salt}" for at, fact in enumerate(FACTS, 1))
    return (STABLE, Message("user", f"{evidence}\n\nQuestion: {question}"))


async def measure(chat: GgufChat) -> dict[str, Any]:
    begun = time.monotonic()
    await chat.count((STABLE,))
    started = time.monotonic() - begun
    fresh = [await _answer(chat, question, salt=f"({at})") for at, question in enumerate(QUESTIONS)]
    cached = [await _answer(chat, question, salt="(4)") for question in QUESTIONS]
    graded = [await _grade(chat, question) for question in QUESTIONS]
    return {
        "start_seconds": round(started, 2),
        "prompt_tokens": round(statistics.median(one["tokens_in"] for one in fresh)),
        "read_tokens_per_second": round(statistics.median(one["read"] for one in fresh), 1),
        "written_tokens_per_second": round(statistics.median(one["written"] for one in fresh), 1),
        "first_token_seconds": round(statistics.median(one["first"] for one in fresh), 2),
        "first_token_seconds_cached": round(statistics.median(one["first"] for one in cached), 2),
        "json_valid": sum(one["valid"] for one in graded) / len(graded),
        "json_tokens": round(statistics.median(one["tokens_out"] for one in graded)),
        "resident_mb": _resident_mb(chat.worker_pid),
    }


async def _answer(chat: GgufChat, question: str, *, salt: str) -> dict[str, float]:
    request = ChatRequest(prompt(question, salt=salt), max_tokens=WRITTEN_TOKENS)
    result = await chat.complete(request)
    first = result.first_token_seconds or result.seconds
    rest = max(result.seconds - first, 1e-6)
    return {
        "tokens_in": result.tokens_in,
        "first": first,
        "read": (result.tokens_in - result.tokens_cached) / first,
        "written": (result.tokens_out - 1) / rest,
    }


async def _grade(chat: GgufChat, question: str) -> dict[str, Any]:
    request = ChatRequest(
        prompt(question, salt=""), max_tokens=200,
        schema=Graded.model_json_schema(), mode="json_schema",
    )  # fmt: skip
    result = await chat.complete(request)
    try:
        Graded.model_validate_json(result.text)
    except ValidationError:
        return {"valid": False, "tokens_out": result.tokens_out}
    return {"valid": True, "tokens_out": result.tokens_out}


def _resident_mb(pid: int | None) -> int | None:
    status = Path(f"/proc/{pid}/status")
    if not status.is_file():
        return None
    (line,) = (one for one in status.read_text("ascii").splitlines() if one.startswith("VmRSS"))
    return int(line.split()[1]) // 1024


def find(name: str) -> Path:
    return default_folder() / MODELS[name].file if name in MODELS else Path(name)


async def run(names: list[str], threads: int | None) -> dict[str, Any]:
    figures = {}
    for name in names:
        chat = GgufChat(find(name), context_tokens=2048, threads=threads)
        figures[name] = await measure(chat)
        await chat.aclose()
        figures[name]["load_average"] = [round(load, 1) for load in os.getloadavg()]
        print(name, json.dumps(figures[name]), flush=True)
    return {"cores": threads or available_cores(), "models": figures}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("models", nargs="+", help="names or paths")
    parser.add_argument("--threads", type=int, help="cores to use (default: all)")
    options = parser.parse_args()
    RESULTS.write_text(
        json.dumps(asyncio.run(run(options.models, options.threads)), indent=2) + "\n"
    )


if __name__ == "__main__":
    main()
