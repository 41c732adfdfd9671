"""Whatever surrounds it, the code of a reply is found; what is no code is not taken for it."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secondlook.nodes.code.guard import is_python, parsed
from secondlook.nodes.code.write import code_of

CODE = 'mean = df["Fare"].mean()\nresult = round(mean, 2)'
FENCE = "```"

WRAPPED = {
    "bare": CODE,
    "a fence": f"{FENCE}python\n{CODE}\n{FENCE}",
    "a fence without a language": f"{FENCE}\n{CODE}\n{FENCE}",
    "prose around a fence": f"Sure! Here it is:\n\n{FENCE}python\n{CODE}\n{FENCE}\n\nThis works.",
    "tildes": f"~~~python\n{CODE}\n~~~",
    "a longer fence": f"````py\n{CODE}\n````",
    "an indented fence": textwrap.indent(f"{FENCE}python\n{CODE}\n{FENCE}", "   "),
    "a quoted language": f"{FENCE}{{python}}\n{CODE}\n{FENCE}",
    "a title on the fence": f'{FENCE}python title="answer.py"\n{CODE}\n{FENCE}',
    "Windows line ends": f"{FENCE}python\r\n{CODE}\r\n{FENCE}\r\n".replace("\n", "\r\n"),
    "a fence that is not closed": f"Here:\n{FENCE}python\n{CODE}",
    "a fence closed at the end of a line": f"{FENCE}python\n{CODE}{FENCE}",
    "shown twice": f"{FENCE}python\n{CODE}\n{FENCE}\nAgain:\n{FENCE}python\n{CODE}\n{FENCE}",
    "shown in part, then whole": (
        f'First:\n{FENCE}python\nmean = df["Fare"].mean()\n{FENCE}\nAll of it:\n'
        f"{FENCE}python\n{CODE}\n{FENCE}"
    ),
    "shown whole, then in part": (
        f"{FENCE}python\n{CODE}\n{FENCE}\nwhere\n{FENCE}python\nresult = round(mean, 2)\n{FENCE}"
    ),
    "a shell command first": (
        f"{FENCE}bash\npip install pandas\n{FENCE}\n{FENCE}python\n{CODE}\n{FENCE}"
    ),
    "its output after it": f"{FENCE}python\n{CODE}\n{FENCE}\nOutput:\n{FENCE}\n34.65\n{FENCE}",
    "its output said to be text": f"{FENCE}python\n{CODE}\n{FENCE}\n{FENCE}text\nmean = 3\n{FENCE}",
    "JSON": '{"code": "mean = df[\\"Fare\\"].mean()\\nresult = round(mean, 2)"}',
    "JSON in a fence": (
        '```json\n{"code": "mean = df[\\"Fare\\"].mean()\\nresult = round(mean, 2)"}\n```'
    ),
    "JSON with a fence in it": (
        '{"thought": "easy", "code": "```python\\nmean = df[\\"Fare\\"].mean()\\n'
        'result = round(mean, 2)\\n```"}'
    ),
    "prose before, no fence": f"Here is the code you asked for:\n\n{CODE}",
    "prose after, no fence": f"{CODE}\n\nThis computes the mean of the fare (rounded).",
    "prose around, no fence": f"Sure, here it is.\n{CODE}\nLet me know if that helps!",
    "a tag": f"<code>\n{CODE}\n</code>",
    "a tag that is not closed": f"<python>\n{CODE}",
    "thoughts": f"<think>Use ```python\nx = 1\n```.</think>\n{FENCE}python\n{CODE}\n{FENCE}",
    "magics": f"{FENCE}python\n%matplotlib inline\n!pip install pandas\n{CODE}\n{FENCE}",
    "all of it indented": textwrap.indent(CODE, "    "),
    "invisible characters": f"{FENCE}python\n\ufeff{CODE}\u200b\n{FENCE}",
    "typographic quotes": f"{FENCE}python\n{CODE}\n{FENCE}".replace('"', "\u201d"),
    "another language's name": f"{FENCE}javascript\n{CODE}\n{FENCE}",
}


@pytest.mark.parametrize("how", WRAPPED)
def test_code_is_found(how: str) -> None:
    assert code_of(WRAPPED[how]).strip() == CODE


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "   \n ",
        "Sure",
        "I cannot answer that.",
        "The mean fare is 34.65, because the fares are averaged.",
        "42",
        f"{FENCE}text\nnothing here to run\n{FENCE}",
        '{"answer": 3}',
        "<think>result = 3",
    ],
)
def test_what_is_no_code_is_not_taken_for_it(reply: str) -> None:
    assert code_of(reply) == ""


def test_several_fences_are_joined_in_order() -> None:
    reply = (
        f"Load:\n{FENCE}python\nsold = tables['sales']\n{FENCE}\nThen:\n"
        f"{FENCE}python\nresult = sold['price'].sum()\n{FENCE}"
    )
    assert code_of(reply) == "sold = tables['sales']\n\nresult = sold['price'].sum()"


def test_code_that_was_cut_is_not_completed() -> None:
    code = code_of(f"Here:\n{FENCE}python\nmean = df['a'].mean()\nresult = round(mea")
    assert code == "mean = df['a'].mean()\nresult = round(mea"
    assert not is_python(code)


def test_code_that_was_cut_without_a_fence_keeps_its_last_line() -> None:
    assert code_of("mean = df['a'].mean()\nresult = round(mea") == (
        "mean = df['a'].mean()\nresult = round(mea"
    )


def test_brackets_that_close_after_the_last_line_of_code() -> None:
    reply = "Here you go\nresult = (\n    df['a']\n    .sum()\n)\nI hope that it helps you"
    assert code_of(reply) == "result = (\n    df['a']\n    .sum()\n)"


def test_a_magic_in_a_block_leaves_the_block() -> None:
    code = code_of("```python\nfor name in df:\n    !echo hi\nresult = len(df)\n```")
    assert code == "for name in df:\n    pass\nresult = len(df)"


def test_a_percent_sign_that_continues_a_line_is_no_magic() -> None:
    code = "result = (len(df)\n  % 3)"
    assert code_of(f"```python\n{code}\n```") == code


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.text(max_size=400))
def test_any_reply_is_survived(reply: str) -> None:
    assert isinstance(code_of(reply), str)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    st.lists(
        st.sampled_from(
            [
                "```",
                "```python",
                "x = 1",
                "Here it is",
                "{",
                '{"code": "',
                "%time",
                ">>> y = 2",
            ]
        ),
        max_size=12,
    )
)
def test_any_mixture_of_marks_is_survived(lines: list[str]) -> None:
    code = code_of("\n".join(lines))
    assert "```" not in code


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.lists(
        st.sampled_from(
            ["a = df['x'].sum()", "for r in df:\n    a = r", "# note", "b = [\n    1,\n    2,\n]"]
        ),
        min_size=1,
        max_size=6,
    ),
    st.sampled_from(["Here is the code:\n\n", "", "Sure!\n"]),
    st.sampled_from(["\n\nHope this helps you.", ""]),
)
def test_fenced_code_comes_back_as_it_was(blocks: list[str], before: str, after: str) -> None:
    code = "\n".join([*blocks, "result = a"])
    assert code_of(f"{before}```python\n{code}\n```{after}") == code


def test_what_cannot_be_parsed_says_why() -> None:
    said = parsed("a = 1\nb = (")
    assert getattr(said, "line", None) == 2
    for hostile in ["\0", "(" * 5000, "-" * 9000 + "1", "x = 1\n" * 20_000, "1" + "+1" * 3000]:
        assert not is_python(hostile)
