"""A small data folder in the forms of the training sets, every row written here."""

from pathlib import Path
from typing import Any

from training.data.rows import write_lines

HIDDEN = "The hidden harbour of Lisbon was dredged by Dutch engineers in the spring of 1871."
PEOPLE = ("Ada Brown", "Carl Stone", "Mary Field", "John Marsh", "Ruth Hill")
TOWNS = ("Ghent", "Turin", "Malmo", "Porto", "Basel")


def passage(article: int, place: int) -> str:
    who, town = PEOPLE[(article + place) % 5], TOWNS[(article * 2 + place) % 5]
    year = 1800 + 10 * article + place
    return (
        f"The mill number {article * 7 + place} was built in {year} by {who} near the river."
        f" Its largest wheel was made in {town}. In {year + 5}, a new owner sold the old tools,"
        f" which had been kept in a shed, to visitors from {TOWNS[(place + 3) % 5]}."
        " Many workers of the region had learned their trade there before the war began."
    )


def squad_rows() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    corpus, queries = [], []
    for article in range(60):
        for place in range(3):
            text = passage(article, place)
            key = f"{article}-{place}"
            corpus.append({"id": key, "title": f"Mill of {article}", "text": text})
            who = PEOPLE[(article + place) % 5]
            year = 1800 + 10 * article + place
            question = f"Who built mill number {article * 7 + place} in {year} near the river?"
            queries.append(squad_query(key, question, who, text.index(who)))
    return corpus, queries


def squad_query(key: str, question: str, answer: str, start: int) -> dict[str, Any]:
    return {
        "id": f"q{key}",
        "question": question,
        "answers": [answer],
        "gold": [key],
        "answerable": True,
        "answer_starts": [start],
        "answer_texts": [answer],
    }


def hotpot_rows() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    corpus = [
        {"id": f"h{n}", "title": f"Lake {n}", "text": f"Lake {n} lies in region {n} of Savonia."}
        for n in range(120)
    ]
    queries = [
        {
            "id": f"t{n}",
            "question": f"Do Lake {n} and Lake {n + 1} lie in region {n}?",
            "answers": ["yes"] if n % 4 == 0 else [f"region {n}"],
            "gold": [f"h{n}", f"h{n + 1}"],
        }
        for n in range(0, 120, 2)
    ]
    return corpus, queries


def subjqa_rows() -> list[dict[str, Any]]:
    return [
        {
            "question": f"How is the soup of {n}?",
            "review": f"Number {n} was fine &amp; warm. The soup was salty."
            + ("" if n % 2 else " ANSWERNOTFOUND"),
            "answer": "The soup was salty" if n % 2 else "ANSWERNOTFOUND",
            "answerable": bool(n % 2),
            "domain": "restaurants",
            "item": f"item {n}",
        }
        for n in range(40)
    ]


def write_sets(root: Path) -> Path:
    """With a text of a test set hidden in each training source."""
    corpus, queries = squad_rows()
    corpus.append({"id": "bad", "title": "Lisbon", "text": f"A port. {HIDDEN} It is deep."})
    queries.append(squad_query("bad", "Who dredged it?", "Dutch engineers", 40))
    queries.append(squad_query("0-0", "Who owns it?", "Nobody", 3))
    queries.append(squad_query("0-1", "Which hidden harbour did the Dutch dredge?", "The", 0))
    save(root / "squad-train", corpus=corpus, queries=queries)
    corpus, queries = hotpot_rows()
    save(root / "hotpot-train", corpus=corpus, queries=queries)
    save(
        root / "hotpot",
        corpus=[{"id": "x", "title": "Lake 7", "text": "Lake seven, told in other words."}],
        queries=[{"id": "x", "question": "Which lake?", "gold": ["x"]}],
    )
    question = {"id": "s", "question": "Which hidden harbour did the Dutch dredge?", "gold": []}
    secret = {"id": "s", "title": "L", "text": f"Other words. {HIDDEN.upper()}"}
    save(root / "squad2-dev", corpus=[secret], queries=[question])
    for file, name in (
        ("snli_train100k", "snli"),
        ("cad_snli_train", "cad_snli"),
        ("mnli_dev", "mnli"),
        ("fever_validation", "fever"),
        ("rte_train", "rte"),
        ("scitail_dev", "scitail"),
    ):
        labels = ("entailment", "neutral", "contradiction")
        rows = [
            {
                "premise": f"Premise {n} of {name} says that boat {n} is red.",
                "hypothesis": f"Boat {n} has a colour.",
                "label": labels[n % 3],
                "source": name,
            }
            for n in range(30)
        ]
        rows[0]["premise"] = HIDDEN
        save(root / "nli", **{file: rows})
    save(root / "subjqa", rows=subjqa_rows())
    hallucinated = [
        {
            "knowledge": f"Bridge {n} was built by Otto Lang.It crosses the bay of town {n}.",
            "question": f"Who built bridge {n}?",
            "right_answer": "Otto Lang",
            "hallucinated_answer": f"Anna Berg built bridge {n}.",
        }
        for n in range(20)
    ]
    hallucinated[0]["knowledge"] += HIDDEN
    save(root / "halueval-qa", rows=hallucinated)
    save(
        root / "clapnq",
        answerable=[{"input": "what is a very old clap", "passages": [{"text": "Clap."}]}],
    )
    save(
        root / "faithfulness-human",
        begin=[
            {"knowledge": "Bees dance in the hive to tell where flowers are.", "response": "ok"}
        ],
        qags_cnndm=[{"article": "The minister of trade resigned on Monday over a letter."}],
    )
    return root


def save(folder: Path, **files: list[dict[str, Any]]) -> None:
    folder.mkdir(exist_ok=True)
    for name, rows in files.items():
        write_lines(folder / f"{name}.jsonl.gz", rows)
