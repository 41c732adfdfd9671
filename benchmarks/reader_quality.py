"""What a reader is worth: compared with others on the same candidates, decoded the same way.

export SECONDLOOK_DATA=...                            the folder with the evaluation sets
python -m benchmarks.reader_quality prepare           index the sets and search them (once)
python -m benchmarks.reader_quality read --readers shipped=FOLDER reader-12=FOLDER --minutes 40
python -m benchmarks.reader_quality time --readers ...  300 questions again, on a quiet machine
python -m benchmarks.reader_quality report            figures from what was read so far
python -m benchmarks.reader_quality fit               the calibration that ships
python -m benchmarks.reader_quality tables            the tables of docs/confidence.md

`read` may be cut and called again: it goes on where it was. Questions come in an order that has
nothing to do with what they ask, all sets at the same pace, so what is there is a fair sample.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.reader_quality_compare import SHIPPED, Read
from benchmarks.reader_quality_sets import QUESTIONS, TIMED, prepare
from benchmarks.reader_quality_store import Store

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.reader_quality_read import Competitor


def main() -> None:
    options = _options()
    store = Store()
    try:
        _STEPS[options.step](store, options)
    except KeyboardInterrupt:
        raise SystemExit("stopped; the same call goes on from here") from None
    finally:
        store.close()


def _prepare(store: Store, options: argparse.Namespace) -> None:
    prepare(store, _wanted(options), _tell)


def _read(store: Store, options: argparse.Namespace) -> None:
    from benchmarks.reader_quality_read import read_all

    competitors = [_competitor(label, folder) for label, folder in options.readers]
    read_all(store, competitors, _wanted(options), seconds=60 * options.minutes, tell=_tell)


def _time(store: Store, options: argparse.Namespace) -> None:
    from benchmarks.reader_quality_read import time_all

    competitors = [_competitor(label, folder) for label, folder in options.readers]
    most = _wanted(options, TIMED)["squad2-dev"]
    time_all(store, competitors, store.questions("squad2-dev", most), tell=_tell)


def _report(store: Store, options: argparse.Namespace) -> None:
    from benchmarks.reader_quality_musts import levels, shown
    from benchmarks.reader_quality_report import report

    labels = tuple(options.labels or store.readers())
    found = report(Read(store, labels), features=options.features, tell=_tell)
    for line in (*shown(found["must_show"]), *levels(found)):
        print(line)


def _fit(store: Store, options: argparse.Namespace) -> None:
    from benchmarks.reader_quality_fit import fit

    label = (options.labels or [SHIPPED])[0]
    found = fit(Read(store, (label,)), label)
    print(json.dumps({**found["made"], "risk": "..."}, indent=2))


def _tables(store: Store, options: argparse.Namespace) -> None:
    del store, options
    from benchmarks.reader_quality_tables import write_page

    write_page()


_STEPS = {
    "prepare": _prepare,
    "read": _read,
    "time": _time,
    "report": _report,
    "fit": _fit,
    "tables": _tables,
}


def _competitor(label: str, folder: Path | None) -> Competitor:
    """Without a memory of its own: what it remembers takes no time."""
    from benchmarks.reader_quality_read import Competitor
    from secondlook.reading.reader import OnnxReader
    from secondlook.reading.weights import read_weights
    from secondlook.settings.sections import Settings

    reader = OnnxReader(read_weights(folder) if folder else None, remembered=0)
    return Competitor(label, reader, Settings().search.looks if reader.glances else None)


def _wanted(options: argparse.Namespace, usually: Mapping[str, int] = QUESTIONS) -> dict[str, int]:
    return dict(usually) | dict(options.questions or ())


def _tell(line: str) -> None:
    print(line, flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("step", choices=list(_STEPS))
    parser.add_argument(
        "--readers",
        nargs="+",
        type=_reader,
        metavar="LABEL=FOLDER",
        default=[(SHIPPED, None)],
        help="readers to compare, by their folders; a label alone means the installed reader",
    )
    parser.add_argument("--minutes", type=float, default=float("inf"), help="how long to read")
    parser.add_argument(
        "--questions",
        nargs="+",
        type=_number_of,
        metavar="SET=N",
        help=f"how many of a set; by default {dict(QUESTIONS)}",
    )
    parser.add_argument("--features", nargs="+", help="of answers, instead of the best ones")
    parser.add_argument(
        "--labels",
        nargs="+",
        help="readers to report, by default all that were read last; the first one is fitted",
    )
    return parser.parse_args()


def _reader(given: str) -> tuple[str, Path | None]:
    label, _, folder = given.partition("=")
    return label, Path(folder) if folder else None


def _number_of(given: str) -> tuple[str, int]:
    name, _, number = given.partition("=")
    if name not in QUESTIONS:
        raise argparse.ArgumentTypeError(f"no such set: {name!r}")
    return name, int(number)


if __name__ == "__main__":
    main()
