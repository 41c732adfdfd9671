"""A form over one table as queries: every value has its cell, every part of a date its column."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from secondlook.tables.query import Comparison, Filter, Key, Measure, Order, Query, Statistic, Term
from secondlook.tables.resolver import AskedTable, Resolved
from secondlook.tables.sql import key_name
from secondlook.tables.table import NUMERIC, TEMPORAL, ColumnProfile
from secondlook.tables.understand.charts import spread
from secondlook.tables.understand.forms import SIGNS, SPREAD, Form
from secondlook.tables.understand.forms import Condition as Said
from secondlook.tables.understand.methods import Methods
from secondlook.tables.understand.outputs import p_cases
from secondlook.tables.understand.readings import Output
from secondlook.tables.words import MONTHS, NUMBER_WORDS, atoms, plain, stem, stems

_STATISTICS: dict[str, Statistic] = {
    "count distinct": "distinct",
    "significance": "correlation_p",
    "outliers": "outliers_iqr",
}
_CALLED = {"significance": "p-value of the correlation", "normality": "p-value of normality"}
_OF_ANYTHING = frozenset(("distinct", "mode"))  # Statistics of columns that hold no numbers
YES = frozenset({"yes", "y", "true", "1", "x", "ja", "oui"})
NO = frozenset({"no", "n", "false", "0", "nein", "non"})
SUMMING = 2  # Columns in which a row is called a sum, and the most words it is called so by
OVERALL = (["sum"], ["average"], ["overall"], ["all"], ["career"])
MANY = 5  # Rows with the same value, on average, from which on it names a group and no row
LIKELY_TWICE = 4
"""Squared rows for each number of a range, from which on two rows are expected to share one."""
_CODE = re.compile(r"[^\W\d_]+[-/ ]?\d")
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
_THOUSAND = re.compile(r"\d\s*k\b", re.IGNORECASE)
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_DATED = re.compile(
    r"(?:(?P<first>\d{1,2})(?:st|nd|rd|th)? (?:of )?)?"
    r"(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
    r"(?: (?P<day>\d{1,2})(?:st|nd|rd|th)?)?,? (?P<year>\d{4})",
    re.IGNORECASE,
)
_BRACKETS = re.compile(r"\(.*?\)|\[.*?\]")
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_ISO = re.compile(r"\d{4}-\d\d-\d\d")


class Unplaced(Exception):
    """Words that mean nothing in this table."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.words = words


@dataclass(slots=True)
class Maker:
    asked: AskedTable
    columns: dict[str, ColumnProfile]
    form: Form
    words: Collection[str] = ()  # Stems of the question
    methods: Methods = field(default_factory=Methods)

    @property
    def used(self) -> frozenset[str]:
        """Names of columns."""
        return frozenset(self.columns[one].name for one in self.form.columns)

    @property
    def select(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.columns[one].name for one in self.form.shown))

    def queries(self) -> list[Query]:  # noqa: PLR0911 - one line a kind
        form, where = self.form, (*self.filters(self.form.where), *self.apart())
        table, select = self.asked.table.id, self.select
        if form.act == "difference":
            pair = [tuple(self.filters([one])) for one in form.between]
            compared = (self.measure(form),)
            return [Query(table=table, where=(*where, *one), measures=compared) for one in pair]
        if form.act == "share":
            if form.figure != "count":
                raise Unplaced("share")
            counted = tuple(self.filters(form.between))
            share = Measure(name="share in %", statistic="share", where=counted)
            return [Query(table=table, where=where, measures=(share,))]
        if form.act in {"show", "distinct"}:
            return [Query(table=table, where=where, select=select, distinct=True)]
        if form.act in {"first", "last"}:
            order = (Order(by="", descending=form.act == "last"),)
            return [Query(table=table, where=where, select=select, order=order, limit=1)]
        if form.act in {"after", "before"}:
            side: Any = form.act
            return [Query(table=table, where=where, select=select, neighbour=side)]
        if form.act == "groups":
            measure, (limit,) = self.measure(form), form.between
            sign: Any = limit.sign
            kept = Filter(column=measure.name, comparison=sign, value=_number(limit.values[0]))
            return [
                Query(
                    table=table, where=where, group_by=self.keys(), measures=(measure,),
                    having=(kept,),
                )
            ]  # fmt: skip
        if form.figure == SPREAD:
            return [spread(table, self.columns[form.of], where)]
        if form.act == "figure":
            measures = tuple(map(self.measure, self.figures))
            return [Query(table=table, where=where, group_by=self.keys(), measures=measures)]
        return [self.ranked(table, where)]

    def apart(self) -> Iterator[Filter]:
        """Leaves out rows that sum up others, unless one is named."""
        said = " ".join(value for one in self.form.where for value in one.values).casefold()
        names = [one.name for one in self.asked.profile.columns if one.type == "text"]
        for name in names[:SUMMING]:
            for value in self.asked.values(name):
                words = [atom.text for atom in atoms(value)][: SUMMING + 1]
                sums = {*words[:1], *words[-1:]} & {"total", "totals", "subtotal"}
                summing = (sums and len(words) <= SUMMING) or words in OVERALL
                if summing and words[0] not in said:
                    yield Filter(column=name, comparison="!=", value=value)

    def ranked(self, table: str, where: tuple[Filter, ...]) -> Query:
        form, last = self.form, self.form.act == "top"
        limit = int(form.n)
        if form.figure:
            measure = self.measure(form)
            order = (Order(by=measure.name, descending=last),)
            keys = self.keys()
            return Query(
                table=table, where=where, group_by=keys, measures=(measure,), order=order,
                limit=limit,
            )  # fmt: skip
        by = self.columns[form.by[0].column]
        transform: Any = None if by.type in NUMERIC or by.type in TEMPORAL else "number"
        order = (Order(by=by.name, descending=last, transform=transform),)
        where = (*where, Filter(column=by.name, comparison="present"))
        return Query(table=table, where=where, select=self.select, order=order, limit=limit)

    def keys(self) -> tuple[Key, ...]:
        found: list[Key] = []
        for one in self.form.by:
            column = self.columns[one.column]
            if not one.part or (one.part == "year" and column.type in NUMERIC):
                found.append(Key(column=column.name))
                continue
            if column.type not in TEMPORAL:
                raise Unplaced(one.part)
            part: Any = one.part
            # Chosen by a condition; a table of one year says which it is all the same.
            if part in {"month", "quarter"} and not any(
                one.key.part == "year" and self.columns[one.key.column].name == column.name
                for one in self.form.where
            ):
                part = f"year_{part}"
            found.append(Key(column=column.name, part=part))
        return tuple(found)

    @property
    def figures(self) -> Iterator[Form]:
        """What is computed; a correlation always comes with its significance."""
        told = dict.fromkeys(one.figure for one in (self.form, *self.form.more))
        for one in (self.form, *self.form.more):
            if one.figure == "significance" and "correlation" not in told:
                yield replace(one, figure="correlation")
            yield one
            if one.figure == "correlation" and "significance" not in told:
                yield replace(one, figure="significance")

    def figure(self, form: Form) -> str:
        """Numbers that name rows are counted where the model wrote their sum."""
        sums_names = form.figure == "sum" and self._of_names(form)
        return "count" if sums_names else form.figure

    def _of_names(self, form: Form) -> bool:
        return not form.operator and self._is_unnamed_id(self.columns.get(form.of))

    def _is_unnamed_id(self, column: ColumnProfile | None) -> bool:
        """Of ids that the question does not name there is no sum, and none is over another."""
        named = column is not None and stems(_BRACKETS.sub("", column.name)) <= set(self.words)
        return column is not None and _names_rows(column) and not named

    def measure(self, form: Form) -> Measure:
        figure = self.figure(form)
        if figure == "count":
            return Measure(name="count", statistic="count")
        statistic: Any = _STATISTICS.get(figure, figure)
        how, at = self.methods, None
        method: str | None = None
        if figure == "quantile":
            at = float(form.at) / 100
        elif figure == "outliers":
            statistic, at = how.outliers or statistic, how.limit
        elif figure in {"correlation", "significance"}:
            method = how.correlation
        elif figure == "normality":
            method = how.normality
        elif figure in {"std", "variance"} and how.population:
            method = "population"
        of, other = self.term(form.of, statistic), None
        if form.other:
            self.number(form.of)
        if form.operator:
            operator: Any = form.operator
            of = of.model_copy(update={"operator": operator, "other": self.number(form.other)})
        elif form.other:
            other = Term(column=self.number(form.other))
        return Measure(
            name=self.told(form), statistic=statistic, of=of, other=other, at=at, method=method
        )

    def term(self, name: str, statistic: str) -> Term:
        column = self.columns[name]
        counts = column.type in NUMERIC or column.type in TEMPORAL or statistic in _OF_ANYTHING
        return Term(column=column.name, transform=None if counts else "number")

    def number(self, name: str) -> str:
        column = self.columns[name]
        if column.type not in NUMERIC:
            raise Unplaced(column.name)
        return column.name

    def told(self, form: Form) -> str:
        """What a figure is called."""
        figure = self.figure(form)
        if figure == "count":
            return "count"
        of, other = (self.columns[x].name if x else "" for x in (form.of, form.other))
        called = f"{form.at} % quantile" if form.at else _CALLED.get(figure, figure)
        joined = f" {form.operator or 'and'} " if other else ""
        return f"{called} of {of}{joined}{other}"

    def filters(self, conditions: Iterable[Said]) -> Iterator[Filter]:
        for said in conditions:
            dated = _DATED.fullmatch(said.values[0]) if len(said.values) == 1 else None
            column = self.columns[said.key.column]
            if dated and not said.key.part and column.type in {*TEMPORAL, "text"}:
                yield from _of_day(column.name, said.sign, dated)
            else:
                yield self.filter(said)

    def filter(self, said: Said) -> Filter:  # noqa: PLR0911 - one a kind
        column = self.columns[said.key.column]
        comparison: Any = said.sign
        if comparison not in {"=", "!=", "in"} and self._is_unnamed_id(column) and said.values:
            raise Unplaced(said.values[0])
        if comparison == "usual":
            near: Any = "within_z" if self.methods.outliers == "outliers_z" else "within_iqr"
            return Filter(column=self.number(said.key.column), comparison=near,
                value=self.methods.limit)  # fmt: skip
        if comparison in {"missing", "present"}:
            return Filter(column=column.name, comparison=comparison)
        if said.key.part:
            return self._of_part(said, column)
        if column.type in TEMPORAL:
            return self._of_date(said, column)
        if column.type in NUMERIC:
            return _compared(column.name, comparison, list(map(_number, said.values)))
        if column.type == "boolean":
            yes = said.values[0].casefold() in YES
            if not yes and said.values[0].casefold() not in NO:
                raise Unplaced(said.values[0])
            return _compared(column.name, comparison, [yes] * len(said.values))
        return self._of_text(said, column)

    def _of_text(self, said: Said, column: ColumnProfile) -> Filter:
        comparison: Any = said.sign
        if comparison == "contains":
            words = plain(said.values[0]).strip()
            if len(said.values) > 1 or not any(
                words in plain(one) for one in self.asked.values(column.name)
            ):
                raise Unplaced(said.values[0])
            return Filter(column=column.name, comparison="contains", value=said.values[0])
        if comparison not in {"=", "!=", "in"}:
            numbers = list(map(_number, said.values))
            return _compared(column.name, comparison, numbers, transform="number")
        cells = tuple(dict.fromkeys(x for one in said.values for x in self.cell(column, one)))
        negated = comparison == "!="
        if len(cells) == 1:
            return Filter(column=column.name, comparison="!=" if negated else "=", value=cells[0])
        return Filter(column=column.name, comparison="in", values=cells, negated=negated)

    def cell(self, column: ColumnProfile, said: str) -> list[str]:
        """As the table has it: the same words, up to endings, or the only cells that hold them."""
        cells = list(self.asked.values(column.name))
        words = [stem(one.text) for one in atoms(said)]
        folded_words = plain(said)
        if same := [one for one in cells if plain(one) == folded_words]:
            return same
        if same := [one for one in cells if [stem(a.text) for a in atoms(one)] == words]:
            return same
        folded = said.casefold()
        for known in (YES, NO):
            if folded in known and (same := [one for one in cells if one.casefold() in known]):
                return same
        if words and (
            same := [one for one in cells if set(words) <= {stem(a.text) for a in atoms(one)}]
        ):
            return same if len(same) == 1 or len(words) > 1 else _lost(said)
        return _lost(said)

    def _of_part(self, said: Said, column: ColumnProfile) -> Filter:
        part: Any = said.key.part
        numbers = [_number_of(part, one) for one in said.values]
        if column.type in TEMPORAL:
            return _compared(column.name, said.sign, numbers, part=part)
        if column.type in NUMERIC and part == "year":
            return _compared(column.name, said.sign, numbers)
        if part not in {"year", "month"}:
            raise Unplaced(said.values[0])
        return _compared(column.name, said.sign, numbers, transform=part)

    def _of_date(self, said: Said, column: ColumnProfile) -> Filter:
        values = [one.strip() for one in said.values]
        if all(map(_YEAR.fullmatch, values)):
            return _compared(column.name, said.sign, list(map(int, values)), part="year")
        if len(values) > 1 or not _ISO.fullmatch(values[0]):
            raise Unplaced(values[0])
        return _compared(column.name, said.sign, values)

    @property
    def is_vague(self) -> bool:
        """Whether another thing may have been asked for: means of numbers that name rows, columns
        that differ in their units alone, cells that hold a value and more, rows that are counted
        though one alone can be meant, what is after a month of a year, or in its other ones, and
        a cell of whose words only those are said that name the table."""
        form, parts = self.form, {one.key.part: one.sign for one in self.form.where}
        averaged = [one for one in (form, *form.more) if one.figure in {"mean", "median", "std"}]
        if any(map(self._of_names, averaged)) or self._ranks_repeated():
            return True
        if parts.get("year") == "=" and parts.get("month", "=") not in {"=", "in"}:
            return True
        bare = [_BRACKETS.sub("", one.name).strip() for one in self.asked.profile.columns]
        for name in self.used:
            units = stems(*_BRACKETS.findall(name))
            if bare.count(_BRACKETS.sub("", name).strip()) > 1 and not units & set(self.words):
                return True
        return any(map(self._is_vague, (*form.where, *form.between)))

    def _ranks_repeated(self) -> bool:
        """The highest revenue of a row, where each region has many: their sum may be meant."""
        form = self.form
        if form.act not in {"top", "bottom"} or form.figure or len(form.shown) != 1:
            return False
        shown, by = self.columns[form.shown[0]], self.columns[form.by[0].column]
        repeats = shown.distinct is not None and MANY * shown.distinct <= shown.rows
        return repeats and shown.type == "text" and by.type in NUMERIC

    def _is_vague(self, said: Said) -> bool:
        column = self.columns.get(said.key.column)
        if column is None:
            return False
        if any(x.isdigit() and x in {one.text for one in atoms(column.name)} for x in said.values):
            return True  # `Unnamed: 8` has no value 8
        if self.form.figure == "count" and self.form.act == "figure" and column.key:
            return said.sign == "=" and not said.key.part
        if column.type != "text" or said.sign not in {"=", "!=", "in"}:
            return False
        titled = stems(self.asked.table.name, self.asked.table.title)
        each = [(own, own & set(self.words)) for own in map(stems, said.values)]
        if any(there and there < own and there <= titled for own, there in each):
            return True
        held = {plain(one) for one in self.asked.values(column.name)}
        return any(
            value in held and any(value in one for one in held - {value})
            for value in map(plain, said.values)
        )

    # How it is told

    @property
    def answer(self) -> Any:
        return "list" if len(self.form.shown) > 1 else "value"

    @property
    def outputs(self) -> tuple[Output, ...]:
        form = self.form
        if form.figure == SPREAD:
            return (Output("count", "count", every="mapping"),)
        if form.figure == "normality" and not form.by and not form.more:
            # Whether values are normal is a question for yes or no.
            name = self.told(form)
            cases = p_cases(("yes", "no"), name, "", small="no")
            return Output("normally distributed", name, cases=cases), Output(name, name)
        ranked = form.act in {"top", "bottom"} and form.n == "1"
        if not (ranked or form.act == "groups") or not form.figure or len(form.by) != 1:
            return ()
        key = self.keys()[-1]
        every = None if ranked else "list"
        return (Output(name="answer", measure=key_name(key), every=every),)  # type: ignore[arg-type]

    @property
    def said(self) -> str:
        form = self.form

        def name(key: str) -> str:
            return self.columns[key].name if key in self.columns else key

        def condition(said: Said) -> str:
            key = name(said.key.column)
            key = f"{said.key.part} of {key}" if said.key.part else key
            column = self.columns.get(said.key.column)
            quoted = column is not None and column.type == "text" and said.sign in {"=", "!=", "in"}
            values = " or ".join(repr(one) if quoted else one for one in said.values)
            return " ".join(filter(None, (key, SIGNS.get(said.sign, said.sign), values)))

        figure = ", ".join(map(self.told, self.figures)) if form.figure else ""
        keys = ", ".join(
            f"{one.part} of {name(one.column)}" if one.part else name(one.column) for one in form.by
        )
        listed = ", ".join(map(name, form.shown))
        which = "highest" if form.act == "top" else "lowest"
        text = {
            "show": listed,
            "distinct": listed,
            "first": f"{listed} of the first row",
            "last": f"{listed} of the last row",
            "after": f"{listed} of the row after the one",
            "before": f"{listed} of the row before the one",
            "groups": f"{keys} with {figure} {' '.join(map(condition, form.between))}",
            "figure": f"{figure} of rows" if figure == "count" else figure,
            "share": f"share of rows where {' and '.join(map(condition, form.between))}",
            "difference": f"{figure}: {' less '.join(map(condition, form.between))}",
        }.get(form.act, "")
        if form.act == "figure" and keys:
            text += f" by {keys}"
        if form.act in {"top", "bottom"}:
            text = (
                f"the {form.n} {keys} with the {which} {figure}"
                if form.figure
                else f"{listed} of the {form.n} with the {which} {keys}"
            )
        where = " and ".join(map(condition, form.where))
        return f"{text} where {where}" if where else text

    def resolved(self) -> Iterator[Resolved]:
        for name in sorted(self.used):
            yield Resolved(name, self.asked.table.id, name, 1.0, "meaning")


def _names_rows(column: ColumnProfile) -> bool:
    """Cells like `T0012`, and whole numbers that so many rows would not share out by chance."""
    if not column.key or column.type != "integer":
        return column.key and all(map(_CODE.match, column.examples))
    span = int(column.maximum or 0) - int(column.minimum or 0) + 1
    return column.rows**2 >= LIKELY_TWICE * span


def _compared(column: str, sign: str, values: Sequence[Any], **more: Any) -> Filter:
    """With one value, or with one of several; no other comparison takes several."""
    comparison: Any = sign
    if comparison == "contains" or (len(values) > 1 and comparison != "in"):
        raise Unplaced(str(values[0]))
    if comparison == "in":
        return Filter(column=column, comparison=comparison, values=tuple(values), **more)
    return Filter(column=column, comparison=comparison, value=values[0], **more)


def _number_of(part: str, said: str) -> int:
    value = said.casefold()
    if part == "month" and (month := MONTHS.get(value, MONTHS.get(value[:3]))):
        return month
    if part == "weekday":
        days = (at for at, day in enumerate(WEEKDAYS, 1) if value.startswith(day))
        return next(days, None) or _lost(said)
    return int(_number(value.lstrip("q")))


def _of_day(column: str, sign: str, found: re.Match[str]) -> Iterator[Filter]:
    """A day, or a month of a year, as the number that its cells are turned into."""
    month = MONTHS[found["month"][:3].casefold()]
    low = int(found["year"]) * 10_000 + month * 100 + int(found["first"] or found["day"] or 0)
    high = low if found["first"] or found["day"] else low + 99
    ends: dict[str, list[tuple[Comparison, int]]] = {
        ">": [(">", high)], ">=": [(">=", low)], "<": [("<", low)], "<=": [("<=", high)],
        "=": [(">=", low), ("<=", high)],
    }  # fmt: skip
    if sign not in ends:
        raise Unplaced(found[0])
    for comparison, value in ends[sign]:
        yield Filter(column=column, comparison=comparison, value=value, transform="date")


def _lost(said: str) -> NoReturn:
    raise Unplaced(said)


def _number(text: str) -> float:
    if text.casefold() in NUMBER_WORDS:
        return NUMBER_WORDS[text.casefold()]
    found = _NUMBER.search(text)
    if found is None:
        raise Unplaced(text)
    value = float(found[0].replace(",", ""))
    value = value * 1000 if _THOUSAND.search(text) else value
    return int(value) if value.is_integer() else value
