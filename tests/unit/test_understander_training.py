"""The understander's training: what people ask and what it means, and a very small model made from
rows to ONNX on the processor, with the real commands."""

import json
import re
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

from secondlook.reading.understander import Understander
from secondlook.reading.weights import read_weights, verify_weights
from secondlook.tables.understand.forms import Form, FormError, Key, parsed, signed
from training.data.asked import FOLDER, faults, spoken, table_rows, tables
from training.data.chance import chance
from training.data.readings import SHOWN_COLUMN, claims
from training.understander.rows import own_rows, write

FORMS = {
    "show name, pay | team = Sales": ("show", "", ["name", "pay", "team"]),
    "distinct team": ("distinct", "", ["team"]),
    "mean pay by year(hired)": ("figure", "mean", ["pay", "hired"]),
    "count | pay >= 1,200 | team != Sales": ("figure", "count", ["pay", "team"]),
    "top 3 name by pay": ("top", "", ["name", "pay"]),
    "bottom 1 team by sum pay": ("bottom", "sum", ["pay", "team"]),
    "first name": ("first", "", ["name"]),
    "after name | team in Sales; Support": ("after", "", ["name", "team"]),
    "groups team by count > 2": ("groups", "count", ["team"]),
    "share sum pay, team = Sales": ("share", "sum", ["pay", "team"]),
    "difference count | team = a / team = b": ("difference", "count", ["team", "team"]),
    "none": ("none", "", []),
}
TABLE = """=== staff; team list
name; employee :: person
team; department :: pick Sales/Support // Legal
pay; wage :: int 20-90
---
what does {name} earn ~ pay of {name} => show pay | name = {name}
who in {team} earns over {pay} => show name | team = {team} | pay > {pay}
"""


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.txt")), ids=lambda file: file.stem)
def test_every_file_of_questions_is_without_faults(file: Path) -> None:
    assert not list(faults(file))
    if file.name.startswith("wikitables"):
        for line in file.read_text("utf-8").splitlines():
            assert parsed(line.partition("=>")[2].strip(), [f"c{at}" for at in range(1, 40)])


@pytest.mark.parametrize(("line", "means"), FORMS.items())
def test_a_form_is_parsed_and_said_in_words_and_back(line: str, means: object) -> None:
    form = parsed(line, ("name", "team", "pay", "hired"))
    assert (form.act, form.figure, form.columns) == means
    assert signed(spoken(line)) == line
    assert not re.search("[<>=]", spoken(line))


def test_a_header_may_hold_by() -> None:
    """The first place where both sides are columns counts."""
    columns, seller = ("sold by", "paid by card"), (Key("sold by"),)
    figure = Form("figure", "sum", "paid by card", by=seller)
    assert parsed("sum paid by card by sold by", columns) == figure
    assert parsed("top 1 sold by by count", columns) == Form("top", "count", by=seller, n="1")
    ranked = Form("top", shown=("sold by",), by=(Key("paid by card"),), n="1")
    assert parsed("top 1 sold by by paid by card", columns) == ranked
    with pytest.raises(FormError):
        parsed("top 1 sold by by town", columns)


def test_rows_carry_the_values_of_the_question_into_the_form() -> None:
    """Columns by their numbers in the table that is shown. Letters may have changed places."""
    (table,) = tables(TABLE)
    for row in table_rows(table, chance(3, "test"), times=20, source="tables"):
        asked, _, shown = row.given.removeprefix("query: ").partition(" | ")
        form = parsed(signed(row.wanted), re.findall(r"\bc\d\b", shown))
        assert sorted(one.sign for one in form.where) in (["="], ["=", ">"])
        for (value,) in (one.values for one in form.where):
            parts = [sorted(asked[at : at + len(value)]) for at in range(len(asked))]
            assert sorted(value) in parts


def test_wrong_forms_differ_and_can_be_read(tmp_path: Path) -> None:
    """What the reader learns to tell apart: the headers of the form, above the table."""
    (table,) = tables(TABLE)
    rows = [*table_rows(table, chance(4, "rows"), times=30, source="wtq-dev")]
    write(tmp_path / "rows.jsonl.gz", rows)
    right: dict[tuple[str, str], str] = {}
    for _, claim in claims(tmp_path / "rows.jsonl.gz", ()):
        form, _, shown = (claim.premise or "").partition("\n")
        assert parsed(signed(form), [header for _, header, *_ in SHOWN_COLUMN.findall(shown)])
        if claim.label:
            right[claim.hypothesis, shown] = form
        assert claim.label == (form == right[claim.hypothesis, shown])
    assert len(right) > 20


def test_a_tiny_model_writes_the_same_before_and_after_its_export(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    torch = pytest.importorskip("torch")
    from training.understander import export, train

    request.addfinalizer(partial(torch.set_num_threads, torch.get_num_threads()))
    torch.set_num_threads(1)  # several only wait for each other where a model is so small
    out, onnx, (table,) = tmp_path / "out", tmp_path / "onnx", tables(TABLE)
    asked = [*table_rows(table, chance(5, "rows"), times=3, source="tables")]
    held = replace(asked[-1], source="tables-dev")
    rows = [*islice(own_rows(seed=1, times=1), 0, 60, 12), *asked, held]
    made = Tokenizer(models.WordLevel(unk_token="<unk>"))  # noqa: S106
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    known = trainers.WordLevelTrainer(special_tokens=["<pad>", "</s>", "<unk>"])
    made.train_from_iterator([text for row in rows for text in (row.given, row.wanted)], known)
    end = [("</s>", 1)]
    made.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=end)
    tokenizer, _ = made, write(tmp_path / "rows.gz", rows)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    folders = f"--rows {tmp_path / 'rows.gz'} --start {tmp_path} --out {out}"
    few = "--steps 80 --tokens 400 --rate 0.01 --warmup 5 --dropout 0"
    train.main(f"{folders} {few} --shape tiny --device cpu".split())
    assert json.loads((out / "held.json").read_text("utf-8")).keys() == {"tables-dev"}
    export.main(["--weights", str(out), "--out", str(onnx)])
    verify_weights(read_weights(onnx))
    exported, model = Understander(read_weights(onnx)), export.model_of(out / "weights.npz")
    for row in asked:
        (ids,) = train.written(model, [tokenizer.encode(row.given).ids], "cpu")
        said = exported.write(row.given)
        assert said.text == tokenizer.decode(ids) != ""
        assert 0 < said.likelihood <= 1
