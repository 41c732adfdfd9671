"""The walk-throughs of the analyst's design, with a model that reads its prompts and replies as a
capable one would: under the default settings, and with a model at every step as in the design."""

import asyncio
import json
import re
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from secondlook.models.chat import ChatRequest, ChatResult
from secondlook.models.prices import Prices
from secondlook.models.specs import parse_spec
from tests.support.analyst import CUSTOMERS, Ran, Script, run
from tests.support.function_model import FunctionModel, asker_of

ALIKE = {"revenue": "sales", "turnover": "sales"}
BY_MODEL: dict[str, Any] = {"enable_grammar": False}
EVERY = BY_MODEL | {"requirements": "model", "remedies": "model", "enable_judgement": True}
HOW = pytest.mark.parametrize("how", [{}, EVERY], ids=["default", "every step"])
CODE = {
    "correlation": "result = float(df[{0!r}].corr(df[{1!r}]))",
    "distribution": "fig = px.histogram(df, x={0!r})\nresult = df[{0!r}].describe().to_dict()",
    "average": "result = round(float(df[{0!r}].mean()), 1)",
    "trend": "raise ValueError('trend coefficient: which one is meant? ({at})')",
}
UNCLEAR = """I attempted to calculate the trend coefficient but encountered ambiguity.
'Trend coefficient' could refer to:
- Linear regression slope
- Time series trend parameter
- Correlation with time
Could you clarify which analysis you'd like?"""


class Capable(Script):
    def __init__(self, *slips: str) -> None:
        """`slips`: code that it writes before it writes the right one."""
        codes = iter(slips)
        super().__init__(
            understand=lambda told: (
                f'{{"work": "{"concept" if "What is a " in told else "data"}"}}'
            ),
            require=self._require,
            code=lambda told: f"```python\n{next(codes, '') or self._right(told)}\n```",
            remedy='{"cause": "calculation error", "action": "rewrite_code", "guidance": "again"}',
            explain=self._explain,
            stuck=UNCLEAR,
        )
        self.at = count()

    @staticmethod
    def _asked(prompt: str) -> tuple[str, list[str]]:
        """The analysis that the question names, and its columns."""
        question = re.findall(r"^Question: (.*)$", prompt, re.MULTILINE)[-1]
        words = re.findall(r"\w+", question.casefold())
        return next((one for one in CODE if one in words), "average"), [
            name for name in words if name in CUSTOMERS.keys() | ALIKE.keys() - {"customer"}
        ]

    def _right(self, prompt: str) -> str:
        kind, names = self._asked(prompt)
        columns = (ALIKE.get(name, name) for name in names if name != "customer")
        return CODE[kind].format(*columns, at=next(self.at))

    def _require(self, prompt: str) -> str:
        kind, names = self._asked(prompt)
        if "No column is called" in prompt:
            names = [ALIKE.get(name, name) for name in names]
        return json.dumps({"variables": names, "analysis": kind, "success": f"the {kind}"})

    def _explain(self, prompt: str) -> str:
        kind, names = self._asked(prompt)
        if not (told := re.search(r"^The result:\n[^-\d]*(-?[\d.]+)", prompt, re.MULTILINE)):
            return "A p-value says how often chance alone would give a result like this one."
        value = f"The {kind} {' and '.join(names)} is {float(told[1]):.2f}."
        return f"{value} It rests on 12 customers, so mind how few they are."


def walked(question: str, how: dict[str, Any], *slips: str) -> Ran:
    return run(question, Capable(*slips), **how)


def checked(ran: Ran) -> Any:
    assert ran.answer.status == "answered", ran.answer.text
    assert ran.answer.analysis is not None
    assert all(check.passed for check in ran.answer.analysis.checks)
    assert "It rests on 12 customers" in ran.answer.text
    return ran.answer


@HOW
def test_a_simple_question_is_answered_in_the_words_of_the_model(how: dict[str, Any]) -> None:
    ran = walked("What's the average customer age?", how)
    steps = ("lay_out", "understand", "requirements", "profile", "align", "code", "evaluate")
    assert ran.nodes == (*steps, "explain", "finish")
    assert checked(ran).values == {"result": 42.3}
    assert ran.answer.text.startswith("The average customer and age is 42.30. It rests on")
    assert {"present", "middle"} <= {check.name for check in ran.answer.analysis.checks}  # type: ignore[union-attr]


@HOW
def test_a_column_that_is_called_otherwise_is_found(how: dict[str, Any]) -> None:
    ran = walked("show correlation between satisfaction and revenue", how)
    assert checked(ran).values == {"result": pytest.approx(0.9498, abs=1e-4)}


@HOW
@pytest.mark.parametrize(
    "slip",
    [
        "result = df['age'].corr(df['income']) + 0.25",
        "result = df[['age', 'income']].mean().to_dict()",
        "correlation = df['income'].mean() / 100\nresult = {'correlation': correlation}",
        "c = df[['age', 'income']].corr()\nresult = {'mean': df['age'].mean()}",
    ],
)
def test_what_is_no_correlation_is_refused_and_mended(how: dict[str, Any], slip: str) -> None:
    ran = walked("Calculate correlation between age and income", BY_MODEL | how, slip)
    assert ran.nodes.count("remediate") == 1
    assert checked(ran).values == {"result": pytest.approx(0.9951, abs=1e-4)}


@HOW
def test_a_concept_is_explained(how: dict[str, Any]) -> None:
    ran = walked("What is a p-value?", how)
    assert "code" not in ran.nodes
    assert ran.answer.analysis is not None
    assert (ran.answer.analysis.kind, ran.answer.analysis.grounded) == ("concept", False)
    assert (ran.answer.status, ran.answer.confidence.value) == ("answered", None)
    assert ran.answer.text.startswith("A p-value says how often chance alone")
    assert "no document of the library explains this" in ran.answer.text


@HOW
def test_a_question_that_stays_unclear_lists_its_meanings_and_asks_back(how: Any) -> None:
    ran = walked("Calculate the trend coefficient", how)
    assert (ran.answer.status, ran.answer.values) == ("abstained", {})
    assert (ran.nodes.count("remediate"), ran.answer.stop_reason) == (3, "attempts_exhausted")
    assert all(line.strip("- ") in ran.answer.text for line in UNCLEAR.splitlines()[:-1])
    assert ran.answer.asks_back == UNCLEAR.splitlines()[-1]


@HOW
def test_a_distribution_is_shown(how: dict[str, Any]) -> None:
    for slips in [(), ("result = df['age'].mean()",)]:
        answer = checked(walked("show me age distribution", how, *slips))
        assert [figure.kind for figure in answer.analysis.figures] == ["plotly"]


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("fig = make_subplots()\nfig.add_trace(go.Histogram(x=df['age']))", "plotly"),
        ("plt.hist(df['age'])\nplt.show()", "png"),
    ],
)
def test_charts_are_drawn_with_what_the_prompt_says_is_there(code: str, kind: str) -> None:
    ran = walked("Draw a histogram of age", BY_MODEL | {"explain": "template"}, code)
    assert ran.answer.analysis is not None
    assert [figure.kind for figure in ran.answer.analysis.figures] == [kind]
    assert {"make_subplots", "plt"} <= set(re.findall(r"\w+", ran.told("code")[0]))


def test_what_a_cache_saved_is_in_the_usage() -> None:
    def said(_: ChatRequest) -> ChatResult:
        return ChatResult("ok", "stop", tokens_in=1000, tokens_out=10, tokens_cached=800)

    asker = asker_of(FunctionModel(said, spec="openai:gpt-5.1"))
    asyncio.run(asker.ask("code", [], node="code"))
    usage = asker.ledger.usage()
    assert usage.cache_hit_rate == pytest.approx(0.8)
    assert usage.saved == usage.by_node[0].saved == pytest.approx(800 * (1.25 - 0.125) / 1e6)


def test_every_model_that_the_documentation_names_has_a_price() -> None:
    docs = (Path(__file__).parents[2] / "docs").glob("*.md")
    told = "\n".join(path.read_text("utf-8") for path in docs)
    named = set(re.findall(r"(?:openai|anthropic|google_genai):(?!text-embed)[a-z][\w.-]*\w", told))
    assert [name for name in named if Prices().of(parse_spec(name)) is None] == []
