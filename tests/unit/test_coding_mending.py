"""Names of columns that are written almost right."""

from __future__ import annotations

import pytest

from secondlook.nodes.code.write import with_real_names

TABLES = {"calls": ["num. calls abandoned ", "Balance", "Limit", "größe (cm)", "a b", "a_b"]}


@pytest.mark.parametrize(
    ("code", "mended"),
    [
        ("df['num. calls abandoned'].sum()", "df['num. calls abandoned '].sum()"),
        ('x = df["balance"] / df["LIMIT"]', "x = df['Balance'] / df['Limit']"),
        ("y = 'größe' + df['Größe cm']", "y = 'größe' + df['größe (cm)']"),
        ("df['ab']", "df['ab']"),
        ("df['Balance']", "df['Balance']"),
        ("df['other']", "df['other']"),
        ("df['balance'] = 1\ndf['balance']", "df['balance'] = 1\ndf['balance']"),
        ("result = {'balance': df['Balance']}", "result = {'balance': df['Balance']}"),
        ("df[['balance', 'limit']]", "df[['Balance', 'Limit']]"),
        ("df[", "df["),
        ('df["""\nbalance"""]', 'df["""\nbalance"""]'),
    ],
)
def test_a_name_that_only_one_column_can_mean_is_put_right(code: str, mended: str) -> None:
    assert with_real_names(code, TABLES) == mended
