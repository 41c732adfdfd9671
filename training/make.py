"""Make a model from its data with one command.

    python -m training.make reader --data $SECONDLOOK_DATA --work DIR
    python -m training.make embedder --data $SECONDLOOK_DATA --base gte-small/model.int8.onnx \\
        --work DIR

Rows, token arrays, teachers, what they say of the rows, the student, its figures, the exported
folder and its card: each stage is a command of its own, printed before it runs and logged. A stage
that is done is not run again unless its options or a stage before it changed, so the same command
goes on after an interruption. `--tiny` makes a very small reader in less than a minute on a
processor.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from secondlook.errors import SecondlookError, UsageError
from training.plan import RECIPES, TEACHER, Plan, arguments, read_plan
from training.stages import Places, Stage, run_stages

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from training.plan import Run

WEIGHTS = Path(__file__).parents[1] / "weights" / "src" / "secondlook_weights"
TRAINED = ("--data", "{work}/rows", "--work", "{work}/arrays")
EMBEDDER_ROWS = ("--seed", "0", "--mine", "words", "--fill", "10")


def reader_stages(plan: Plan, recipe: Path, forms: Sequence[Path] = ()) -> list[Stage]:
    """In their order. Braces stand for places, so that a record holds on another machine too."""
    mined = [*arguments(plan.rows), "--kept", "{work}/vectors"]
    if forms:
        mined += ["--forms", str(forms[0]), "--written", *map(str, forms[1:])]
    scored = ("--checkpoints", *map(_folder, plan.runs), "--out", "{work}/score.json")
    kept = _folder(plan.kept)
    blended = []
    if plan.blend < 1:
        options = ("--trained", kept, "--share", str(plan.blend), "--out", "{work}/blend")
        kept = "{work}/blend"
        blended = [_stage("blend", "training.weights_in", "--weights", "{base}", *options)]
    card = ("reader", "--folder", "{out}", "--work", "{work}", "--recipe", str(recipe))
    return [
        _stage("rows", "training.prepare", "--data", "{data}", "--out", "{work}/rows", *mined),
        *map(_start, ("base", TEACHER) if _has_teacher(plan) else ("base",)),
        _stage("arrays", "training.encode", *TRAINED, "--again"),
        *(stage for name, run in plan.runs.items() for stage in _run_stages(name, run)),
        _stage("score", "training.score", *TRAINED, *scored),
        *blended,
        _exported("reader", kept, plan.name, arguments(plan.export)),
        _stage("card", "training.card", *card),
    ]


def _has_teacher(plan: Plan) -> bool:
    return any(run.start == TEACHER for run in plan.runs.values())


def _start(name: str) -> Stage:
    """Weights to start from."""
    options = ("--weights", f"{{{name}}}", "--out", f"{{work}}/{name}.npz")
    return _stage(name, "training.weights_in", *options)


def _run_stages(name: str, run: Run) -> Iterator[Stage]:
    """What its teachers say, where it has any, and the run itself."""
    options = arguments(run.options)
    if run.teachers:
        taught = f"{{work}}/{name}-taught"
        asked = ("--teachers", *map(_folder, run.teachers), "--out", taught)
        yield _stage(f"{name}-taught", "training.teach", *TRAINED, *asked, *arguments(run.ask))
        options = ["--teacher", taught, *options]
    starts = {"": "{work}/base.npz", TEACHER: f"{{work}}/{TEACHER}.npz"}
    start = starts.get(run.start) or _folder(run.start)
    kept = ("--base", start, "--save", _folder(name))
    yield _stage(name, "training.train", *TRAINED, *kept, *options)


def _folder(run: str) -> str:
    return f"{{work}}/{run}"


def embedder_stages(name: str) -> list[Stage]:
    """From gte-small, with the reader's questions and passages; a share of what it was stays."""
    rows = ("--data", "{data}", "--out", "{work}/rows", *EMBEDDER_ROWS)
    trained = ("--base", "{work}/base.npz", "--save", "{work}/e")
    blended = ("--weights", "{base}", "--trained", "{work}/e", "--share", "0.7")
    return [
        _stage("rows", "training.prepare", *rows),
        _start("base"),
        _stage("arrays", "training.encode", *TRAINED, "--again"),
        _stage("embed", "training.embed", *TRAINED, *trained),
        _stage("blend", "training.weights_in", *blended, "--out", "{work}/blend"),
        _exported("embedder", "{work}/blend", name),
        _stage("card", "training.card", "embedder", "--folder", "{out}"),
    ]


def _stage(name: str, *command: str) -> Stage:
    return Stage(name, command)


def _exported(kind: str, weights: str, name: str, options: Sequence[str] = ()) -> Stage:
    given = ("--weights", weights, "--tokenizer", "{tokenizer}", "--name", name, "--out", "{out}")
    return _stage("export", "training.export.build", kind, *given, *options)


def _options(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known = os.environ.get("SECONDLOOK_DATA")
    parser.add_argument("model", choices=("reader", "embedder"))
    parser.add_argument("--data", type=Path, default=known, help="the data sets (docs/data.md)")
    parser.add_argument("--work", type=Path, required=True, help="for everything on the way")
    parser.add_argument("--out", type=Path, help="the model's folder; default: WORK/MODEL")
    parser.add_argument("--recipe", type=Path, help="default: training/recipes/reader.json")
    parser.add_argument("--tiny", action="store_true", help="training/recipes/reader-tiny.json")
    parser.add_argument(
        "--base", type=Path, help="int8 ONNX to start from; a reader's default: the embedder"
    )
    parser.add_argument(
        "--teacher", type=Path, help="safetensors of a larger encoder, where the recipe has one"
    )
    parser.add_argument(
        "--forms", type=Path, nargs="+", default=(), help="the understander's rows, what it wrote"
    )
    parser.add_argument("--tokenizer", type=Path, default=WEIGHTS / "reader" / "tokenizer.json")
    parser.add_argument("--name", default="secondlook-embedder-1", help="of the embedder")
    parser.add_argument("--from", dest="first", metavar="STAGE", help="run this one again, and on")
    parser.add_argument("--to", dest="last", metavar="STAGE", help="stop after this one")
    parser.add_argument("--dry-run", action="store_true", help="say what would run")
    return parser.parse_args(given)


def _stages(given: argparse.Namespace) -> list[Stage]:
    if given.data is None:
        raise UsageError(
            "no data to train on", hint="Name its folder with --data or SECONDLOOK_DATA."
        )
    if given.model == "embedder":
        if given.base is None:
            raise UsageError("no weights to start from", hint="Name gte-small's with --base.")
        return embedder_stages(given.name)
    recipe = given.recipe or RECIPES / ("reader-tiny.json" if given.tiny else "reader.json")
    plan = read_plan(recipe)
    if _has_teacher(plan) and given.teacher is None:
        raise UsageError(
            "the recipe has a larger teacher", hint="Name its model.safetensors with --teacher."
        )
    return reader_stages(plan, recipe, given.forms)


def main(argv: list[str] | None = None) -> int:
    given = _options(argv)
    try:
        places = Places(
            work=given.work,
            out=given.out or given.work / given.model,
            data=given.data or Path(),
            base=given.base or WEIGHTS / "embedder" / "model.onnx",
            teacher=given.teacher or Path(),
            tokenizer=given.tokenizer,
        )
        run_stages(_stages(given), places, first=given.first, last=given.last, dry=given.dry_run)
    except SecondlookError as error:
        sys.stderr.write(f"{error}\n{error.hint or ''}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("stopped; the same command goes on from the stage that was running\n")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
