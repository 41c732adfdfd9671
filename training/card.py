"""Write a model's card from what is known of it.

    python -m training.card reader --folder FOLDER --work DIR --recipe training/recipes/reader.json
    python -m training.card reader          # again, with the figures of benchmarks/results

What a reader was made with is kept beside its card in recipe.json, so that the card can be
written again when figures come. Nothing is in a card that is not in the manifest, in recipe.json
or in a result file; what was not measured is said.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secondlook.errors import SecondlookError, UsageError
from secondlook.reading.weights import read_weights
from training.card_figures import LISTED, beside_reader_12, held_out, listed
from training.card_texts import EMBEDDER, READER, READER_LIMITS
from training.data.sources import SOURCES

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "weights" / "src" / "secondlook_weights"
RESULTS = ROOT / "benchmarks" / "results"
MEGABYTE = 1e6


def read_json(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_text("utf-8")) if file.exists() else {}
    return found


def facts(folder: Path) -> str:
    """The table that a test holds every card to."""
    manifest, weights = read_json(folder / "manifest.json"), read_weights(folder)
    rows = {
        "identity": f"`{weights.identity}`",
        "layers": _layers(manifest),
        "parameters": f"{manifest['parameters']:,}",
        "longest input": f"{manifest['max_tokens']} tokens",
        "inputs": _named(manifest["inputs"]),
        "outputs": _named(manifest["outputs"]),
        **{f"`{name}`": _size(folder / name) for name in sorted(manifest["files"])},
        "languages": ", ".join(name.capitalize() for name in weights.languages),
    }
    lines = [f"| {name} | {value} |" for name, value in rows.items()]
    return "\n".join(["| | |", "|---|---|", *lines])


def _layers(manifest: Mapping[str, Any]) -> str:
    glanced = manifest.get("glance_layers")
    every = str(manifest["layers"])
    return f"{every}; {glanced} of them for a glance" if glanced else every


def _named(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _size(file: Path) -> str:
    return f"{file.stat().st_size / MEGABYTE:.1f} MB"


def made_with(work: Path, recipe: Path) -> dict[str, Any]:
    """What a working folder knows of the reader that came out of it, without its paths."""
    plan = read_json(recipe)
    rows = read_json(work / "rows" / "report.json")
    checkpoints = {
        name: _checkpoint(read_json(work / name / "recipe.json")) for name in plan["runs"]
    }
    kept = list(plan["runs"])[-1]
    counted: dict[str, Any] = {n: rows[n] for n in ("seed", "mine", "passages") if n in rows}
    train = rows.get("train", {})
    counted |= {n: train[n] for n in ("questions", "unanswerable", "claims") if n in train}
    return {
        "plan": plan,
        "rows": counted,
        "checkpoints": checkpoints,
        "held_out": read_json(work / "score.json").get(kept, {}),
    }


def _checkpoint(found: Mapping[str, Any]) -> dict[str, Any]:
    return {name: found[name] for name in ("recipe", "steps", "engine") if name in found}


def trained_on(rows: Mapping[str, Any]) -> str:
    """Every set with its size, its public place and its licence."""
    counts = dict(rows.get("questions", {}))
    for name, labels in rows.get("claims", {}).items():
        key = name.partition(":")[0]
        counts[key] = counts.get(key, 0) + sum(labels.values())
    lines = ["| set | rows | published | licence |", "|---|---|---|---|"]
    for key, count in counts.items():
        source = SOURCES[key]
        lines.append(f"| {source.name} | {count:,} | {source.published} | {source.licence} |")
    made = rows.get("unanswerable", {})
    return "\n".join([*lines, "", _unanswerable(made)])


def _unanswerable(made: Mapping[str, int]) -> str:
    if not made:
        return "No rows were made unanswerable."
    kinds = ", ".join(f"{how} {count:,}" for how, count in made.items())
    total = sum(made.values())
    return (
        f"To the questions {total:,} rows were added that their passage does not answer: {kinds}."
    )


def trained_how(known: Mapping[str, Any]) -> str:
    """One row per run, in the order they were made."""
    lines = [
        "| run | starts from | taught by | layers | seed | length | tokens per step | rate | on |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, run in known["plan"]["runs"].items():
        made = known["checkpoints"].get(name, {})
        options = {**run["options"], **made.get("recipe", {})}
        cells = [name, run.get("start", "base"), ", ".join(run.get("teachers", ["labels alone"]))]
        cells += [str(options.get(key, "")) for key in ("layers", "seed")]
        cells += [_length(run["options"], made)]
        cells += [str(options.get(key, "default")) for key in ("tokens", "rate")]
        lines.append(f"| {' | '.join(cells)} | {made.get('engine', 'not recorded')} |")
    runs = known["plan"]["runs"].items()
    notes = [f"- {name}: {run['note']}" for name, run in runs if run.get("note")]
    return "\n".join([*lines, *([""] if notes else []), *notes])


def _length(options: Mapping[str, Any], made: Mapping[str, Any]) -> str:
    steps = made.get("steps") or options.get("steps")
    return f"{steps} steps" if steps else f"{options.get('minutes', '?')} minutes"


def reader_card(folder: Path, results: Path) -> str:
    known = read_json(folder / "recipe.json")
    if not known:
        raise UsageError(
            f"no recipe.json in {str(folder)!r}: it is not known what the reader was made with",
            hint="Give --work and --recipe of the run that made it.",
        )
    weights = read_weights(folder)
    quality = read_json(results / "reader_quality.json")
    parts = READER.format(
        name=weights.name,
        facts=facts(folder),
        sets=trained_on(known["rows"]),
        mine=known["rows"].get("mine", "words"),
        runs=trained_how(known),
        figures=beside_reader_12(quality, weights.identity),
        listed="\n\n".join(
            listed(read_json(results / wanted.file), weights.identity, wanted) for wanted in LISTED
        ),
        held_out=held_out(known["held_out"]),
    )
    return parts + READER_LIMITS


def embedder_card(folder: Path) -> str:
    weights = read_weights(folder)
    return EMBEDDER.format(name=weights.name, facts=facts(folder))


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", choices=("reader", "embedder"))
    parser.add_argument("--folder", type=Path, help="default: the one in the distribution")
    parser.add_argument("--work", type=Path, help="where training.make made the reader")
    parser.add_argument("--recipe", type=Path, help="the recipe it was made with")
    parser.add_argument("--results", type=Path, default=RESULTS)
    return parser.parse_args(arguments)


def write_card(given: argparse.Namespace) -> Path:
    folder: Path = given.folder or PACKAGE / given.model
    if given.work and given.recipe:
        parts = made_with(given.work, given.recipe).items()
        lines = [f'"{name}": {json.dumps(part, ensure_ascii=False)}' for name, part in parts]
        text = "{\n " + ",\n ".join(lines) + "\n}\n"
        (folder / "recipe.json").write_text(text, "utf-8")
    reader = given.model == "reader"
    card = reader_card(folder, given.results) if reader else embedder_card(folder)
    (folder / "card.md").write_text(card, "utf-8")
    return folder / "card.md"


def main(arguments: list[str] | None = None) -> int:
    try:
        written = write_card(_options(arguments))
    except SecondlookError as error:
        sys.stderr.write(f"{error}\n{error.hint or ''}\n")
        return 1
    sys.stdout.write(f"{written}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
