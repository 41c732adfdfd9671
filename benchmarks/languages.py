"""How well texts in languages the reader does not know are told, and how often English ones are
taken for them.

    pip download --no-deps --dest WHEELS django spacy wagtail
    SECONDLOOK_DATA=... python -m benchmarks.languages --wheels WHEELS

The wheels hold real text in many languages: example sentences of spaCy and the translated messages
of Django and Wagtail. A "sentence" is one of them of at least 40 characters, without the holes for
values and tags; a "passage" is sixteen messages of one language in a row. English is what the
evaluation sets hold, and code: the standard library of this Python.
Writes benchmarks/results/languages.json. The thresholds were chosen on these texts, but for the
sets in KEPT_ASIDE, which were looked at when they stood.
"""

from __future__ import annotations

import argparse
import ast
import gettext
import gzip
import io
import json
import os
import re
import sysconfig
import time
import zipfile
from collections import Counter, defaultdict
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secondlook.reading.languages import _NAMES, other_language

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Texts = dict[str, list[str]]

RESULTS = Path(__file__).parent / "results" / "languages.json"
SHORTEST = 40
PASSAGE = 16
SNIPPET = 900
ROWS = 10
MOST_USED = (
    "ar", "bn", "cs", "de", "el", "es", "fa", "fr", "he", "hi", "hu", "id", "it", "ja", "ko", "mr",
    "nl", "pl", "pt", "ro", "ru", "sv", "sw", "ta", "te", "th", "tr", "uk", "ur", "vi", "zh",
)  # fmt: skip
CHOSEN_ON = ("squad2-dev", "scifact", "hotpot", "cranfield", "shift-new_wiki")
KEPT_ASIDE = ("squad-train", "hotpot-train", "barexam")
HOLES = re.compile(r"%\(\w+\)[sd]|\{\w*\}|%[sd]|<[^>]*>|&\w+;")
LATIN_OF = {"nb": "no"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--wheels", type=Path, required=True)
    wheels = parser.parse_args().wheels
    other_language("Die Sprachen werden beim ersten Text geladen.")
    foreign = {source: told(texts) for source, texts in foreign_texts(wheels)}
    english = {source: alarms(texts) for source, texts in english_texts()}
    results = {"foreign": foreign, "english": english}
    RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")
    print_tables(results)


def foreign_texts(wheels: Path) -> Iterator[tuple[str, Texts]]:
    yield "spacy sentences", spacy_sentences(_wheel(wheels, "spacy"))
    for package in ("django", "wagtail"):
        messages = translations(_wheel(wheels, package))
        yield f"{package} sentences", messages
        yield f"{package} passages", {name: in_passages(texts) for name, texts in messages.items()}


def _wheel(folder: Path, package: str) -> zipfile.ZipFile:
    return zipfile.ZipFile(next(folder.glob(f"{package}-*.whl")))


def spacy_sentences(wheel: zipfile.ZipFile) -> Texts:
    found: Texts = {}
    for name in wheel.namelist():
        if place := re.fullmatch(r"spacy/lang/([a-z]{2})/examples\.py", name):
            tree = ast.parse(wheel.read(name))
            lists = [node.value for node in tree.body if isinstance(node, ast.Assign)]
            found[place[1]] = [text for one in lists for text in ast.literal_eval(one)]
    return known_ones(found)


def translations(wheel: zipfile.ZipFile) -> Texts:
    found: Texts = defaultdict(list)
    for name in sorted(wheel.namelist()):
        if place := re.search(r"/locale/([a-z]{2})[^/]*/LC_MESSAGES/django\.mo$", name):
            catalog: dict[Any, Any] = vars(gettext.GNUTranslations(io.BytesIO(wheel.read(name))))[
                "_catalog"
            ]
            said = {text for key, text in catalog.items() if key and text != key}
            cleaned = (HOLES.sub(" ", text) for text in said if isinstance(text, str))
            found[place[1]] += sorted(text for text in cleaned if len(text.strip()) >= SHORTEST)
    return known_ones(found)


def known_ones(found: Texts) -> Texts:
    """Without English and without languages that have no name here."""
    named = {LATIN_OF.get(name, name): texts for name, texts in sorted(found.items())}
    return {name: texts for name, texts in named.items() if name in _NAMES and name != "en"}


def in_passages(texts: list[str]) -> list[str]:
    return [
        " ".join(texts[at : at + PASSAGE]) for at in range(0, len(texts) - PASSAGE + 1, PASSAGE)
    ]


def english_texts() -> Iterator[tuple[str, list[str]]]:
    folder = Path(os.environ["SECONDLOOK_DATA"])
    for name in (*CHOSEN_ON, *KEPT_ASIDE):
        yield f"{name} passages", [row["text"] for row in rows(folder / name / "corpus")]
    for name in ("squad2-dev", "scifact", "hotpot", *KEPT_ASIDE):
        yield f"{name} questions", [row["question"] for row in rows(folder / name / "queries")]
    yield "wikitables rows", list(chain(*map(table_parts, rows(folder / "wikitables" / "tables"))))
    library = Path(sysconfig.get_path("stdlib"))
    yield "Python code", list(chain(*map(snippets, sorted(library.glob("*.py")))))


def rows(file: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(f"{file}.jsonl.gz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def table_parts(table: dict[str, Any]) -> list[str]:
    lines = [" | ".join(map(str, row)) for row in [table["header"], *table["rows"]]]
    return ["\n".join(lines[at : at + ROWS]) for at in range(0, len(lines), ROWS)]


def snippets(file: Path) -> list[str]:
    text = file.read_text("utf-8", errors="replace")
    return [text[at : at + SNIPPET] for at in range(0, len(text), SNIPPET)]


def told(texts: Texts) -> dict[str, Any]:
    by_language = {name: _told(name, own) for name, own in texts.items() if own}
    return {"all": _summed(by_language.values()), "languages": by_language}


def _told(language: str, texts: list[str]) -> dict[str, Any]:
    found = Counter(other_language(text) for text in texts)
    return {
        "texts": len(texts),
        "told": len(texts) - found[None],
        "named": found[_NAMES[language]],
    }


def _summed(counts: Iterable[dict[str, Any]]) -> dict[str, int]:
    counts = list(counts)
    return {key: sum(one[key] for one in counts) for key in ("texts", "told", "named")}


def alarms(texts: list[str]) -> dict[str, Any]:
    began = time.process_time()
    taken = [(found, text) for text in texts if (found := other_language(text))]
    seconds = time.process_time() - began
    return {
        "texts": len(texts),
        "alarms": len(taken),
        "milliseconds": round(1000 * seconds / max(len(texts), 1), 3),
        "examples": [f"{language}: {text[:100]}" for language, text in taken[:3]],
    }


def print_tables(results: dict[str, Any]) -> None:
    print(
        "| texts in other languages | texts | told | of those, named rightly |\n|---|---|---|---|"
    )
    for source, found in results["foreign"].items():
        often = [one for name, one in found["languages"].items() if name in MOST_USED]
        for who, one in (("all", found["all"]), ("most used", _summed(often))):
            share, named = one["told"] / one["texts"], one["named"] / max(one["told"], 1)
            print(f"| {source}, {who} | {one['texts']:,} | {share:.1%} | {named:.1%} |")
    print("\n| English | texts | taken for another | ms each |\n|---|---|---|---|")
    for source, one in results["english"].items():
        share = one["alarms"] / one["texts"]
        print(f"| {source} | {one['texts']:,} | {share:.2%} | {one['milliseconds']:.2f} |")


if __name__ == "__main__":
    main()
