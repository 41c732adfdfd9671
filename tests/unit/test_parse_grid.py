"""Tables of a printed page, found by where their cells stand."""

from __future__ import annotations

import pytest

from secondlook.retrieval.parse.grid import Line, apart, words_of

Parts = list[tuple[float, str]]
HEADER: Parts = [(60, "Room"), (140, "Seats"), (200, "Rate")]
HALL: Parts = [(60, "Hall"), (140, "420"), (200, "38")]
LOFT: Parts = [(60, "Loft"), (140, "40"), (200, "8")]
PROSE: Parts = [(60, "A half day is four hours, a full day nine hours, an evening five.")]


def line(bottom: float, parts: Parts) -> Line:
    """Ten points high, five for a character."""
    cells = tuple(Line(text, x, x + 5 * len(text), bottom, bottom + 10) for x, text in parts)
    text = " ".join(text for _, text in parts)
    inside = cells if len(cells) > 1 else ()
    return Line(text, cells[0].left, cells[-1].right, bottom, bottom + 10, cells=inside)


def tables(*page: Parts | float) -> list[list[list[str]]]:
    """Lines 17 points below one another; a number is another distance of the next one."""
    lines, bottom, step = [], 700.0, 17.0
    for one in page:
        if isinstance(one, float):
            step = one
            continue
        lines.append(line(bottom := bottom - step, one))
        step = 17.0
    found = list(apart(lines))
    kept = sum(len(text) for text, _ in found)
    assert kept + sum(len(rows) for _, rows in found) <= len(lines)
    return [[[words_of(cell) for cell in row] for row in rows] for _, rows in found if rows]


def test_rows_end_where_text_or_another_table_begins() -> None:
    rows = [["Room", "Seats", "Rate"], ["Hall", "420", "38"], ["Loft", "40", "8"]]
    assert tables(PROSE, HEADER, HALL, LOFT, PROSE) == [rows]
    totals: list[Parts] = [[(60, "Net"), (200, "46")], [(60, "Total to pay"), (200, "50")]]
    assert tables(HEADER, HALL, LOFT, 22.0, *totals) == [
        rows,
        [["Net", "46"], ["Total to pay", "50"]],
    ]


def test_cells_of_several_lines_and_empty_ones() -> None:
    wrapped: Parts = [(60, "Great"), (140, "420"), (200, "by")]
    more: Parts = [(200, "request")]
    empty: Parts = [(60, "Loft"), (200, "8")]
    (rows,) = tables(HEADER, wrapped, 12.0, more, empty)
    assert rows[1:] == [["Great", "420", "by request"], ["Loft", "", "8"]]


def test_a_part_that_stands_in_two_columns_is_cut_at_its_narrow_gaps() -> None:
    close = line(683, HEADER)
    seats, rate = close.cells[1:]
    both = Line("Seats Rate", seats.left, rate.right, 683, 693, cells=(seats, rate))
    close.cells = (close.cells[0], both)
    (_, rows), _ = apart([close, line(666, HALL), line(649, LOFT)])
    assert [words_of(cell) for cell in rows[0]] == ["Room", "Seats", "Rate"]


@pytest.mark.parametrize(
    "page",
    [
        [[(60, "•"), (80, "a point")], [(60, "•"), (80, "another")]],
        [[(60, "x = 1;"), (140, "count")], [(60, "y = 2;"), (140, "sum")]],
        [[(60, "the left column of a page of prose goes on"), (330, "and the right one")]] * 3,
        [
            [(60, "It is"), (110, "set wide"), (190, "here")],
            [(75, "and"), (130, "not"), (240, "so")],
        ],
        [HEADER, PROSE, HALL],
    ],
)
def test_lists_code_and_prose_are_no_tables(page: list[Parts]) -> None:
    assert tables(*page) == []
