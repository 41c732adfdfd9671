"""The walk-throughs of the analyst's design, with a model that reads its prompts and replies as a
capable one would: under the default settings, and with a model at every step as in the design."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.models.prices import Prices
from secondlook.models.specs import parse_spec
from secondlook.settings import load
from tests.support.analyst import CUSTOMERS, Ran, Script, run

if TYPE_CHECKING:
    from pathlib import Path

ALIKE = {"revenue": "sales", "turnover": "sales"}
EVERY: dict[str, Any] = {
    **{"enable_grammar": False, "requirements": "model", "remedies": "model"},
    **{"enable_judgement": True, "explain": "model"},
}
HOW = pytest.mark.parametrize("how", [{}, EVERY], ids=["default", "every step"])
CODE = {
    "correlation": "result = float(df[{0!r}].corr(df[{1!r}]))",
    "distribution": "fig = px.histogram(df, x={0!r}, title={0!r})\n"
    "result = df[{0!r}].describe().to_dict()",
    "descriptive": "result = round(float(df[{0!r}].mean()), 1)",
    "trend": "raise ValueError('trend coefficient: which one is meant?')",
}
UNCLEAR = """I attempted to calculate the trend coefficient but encountered ambiguity.
'Trend coefficient' could refer to:
- Linear regression slope
- Time series trend parameter
- Correlation with time
Could you clarify which analysis you'd like?"""


class Capable(Script):
    """Reads the question, the columns and what went wrong before out of the prompt."""

    slips: tuple[str, ...] = ()
    """Code that it writes before it writes the right one."""

    def __call__(self, request: Any) -> str:
        prompt = request.messages[-1].content
        for step in ("understand", "require", "code", "judge", "remedy", "explain"):
            setattr(self, step, getattr(self, f"_{step}"))
        self.stuck = self._stuck
        return super().__call__(request) if prompt else ""

    @staticmethod
    def _asked(prompt: str) -> tuple[str, str, list[str]]:
        """The question, its analysis, and the columns as the table has them."""
        question = re.findall(r"^Question: (.*)$", prompt, re.MULTILINE)[-1]
        words = re.findall(r"\w+", question.casefold())
        kinds = ("correlation", "distribution", "trend")
        kind = next((one for one in kinds if one in words), "descriptive")
        held = re.findall(r"^- '(\w+)': int|^- '(\w+)': float", prompt, re.MULTILINE)
        columns = {one or other for one, other in held}
        return question, kind, [name for name in words if name in columns or name in ALIKE]

    def _understand(self, prompt: str) -> str:
        concept = self._asked(prompt)[0].startswith("What is a ")
        return json.dumps({"work": "concept" if concept else "data"})

    def _require(self, prompt: str) -> str:
        _, kind, names = self._asked(prompt)
        if "No column is called" in prompt:
            names = [ALIKE.get(name, name) for name in names]
        return json.dumps({"variables": names, "analysis": kind, "success": f"the {kind}"})

    def _code(self, prompt: str) -> str:
        _, kind, names = self._asked(prompt)
        slips, self.slips = self.slips[:1], self.slips[1:]
        columns = [ALIKE.get(name, name) for name in names]
        return f"```python\n{slips[0] if slips else CODE[kind].format(*columns)}\n```"

    def _judge(self, prompt: str) -> str:
        fits = self._asked(prompt)[1] != "correlation" or ".corr(" in prompt
        return json.dumps({"valid": fits, "issues": [] if fits else ["it is no correlation"]})

    def _remedy(self, prompt: str) -> str:
        action = "revise_requirements" if "trend" in self._asked(prompt)[1] else "rewrite_code"
        return json.dumps({"cause": "calculation error", "action": action, "guidance": "again"})

    def _explain(self, prompt: str) -> str:
        question, kind, names = self._asked(prompt)
        if "The result, computed and checked" not in prompt:
            return "A p-value says how often chance alone would give a result like this one."
        told = prompt.partition("The result, computed and checked:")[2]
        number = re.search(r"-?\d+\.\d+", told)
        value = f"{float(number[0]):.2f}" if number else "in the chart"
        return f"The {kind} of {' and '.join(names)} is {value}. It rests on 12 customers."

    def _stuck(self, prompt: str) -> str:
        return UNCLEAR


def walked(question: str, how: dict[str, Any], *slips: str) -> Ran:
    model = Capable()
    model.slips = slips
    return run(question, model, **how)


def checked(ran: Ran) -> Any:
    assert ran.answer.status == "answered", ran.answer.text
    assert ran.answer.analysis is not None
    assert all(check.passed for check in ran.answer.analysis.checks)
    return ran.answer


@HOW
def test_a_simple_question_is_answered_in_the_words_of_the_model(how: dict[str, Any]) -> None:
    answer = checked(walked("What's the average customer age?", how))
    assert answer.values == {"result": 42.3}
    assert answer.text.startswith("The descriptive of age is 42.30. It rests on 12 customers.")


@HOW
def test_a_column_that_is_called_otherwise_is_found(how: dict[str, Any]) -> None:
    ran = walked("Show correlation between satisfaction and revenue", how)
    assert checked(ran).values == {"result": pytest.approx(0.9498, abs=1e-4)}


@HOW
@pytest.mark.parametrize(
    "slip",
    [
        "result = df['age'].corr(df['income']) + 0.25",
        "result = df[['age', 'income']].mean().to_dict()",
        "result = {'correlation': df['income'].mean() / 100}",
        "c = df[['age', 'income']].corr()\nresult = {'mean': df['age'].mean()}",
    ],
)
def test_what_is_no_correlation_is_refused_and_mended(how: dict[str, Any], slip: str) -> None:
    ran = walked(
        "Calculate correlation between age and income", how | {"enable_grammar": False}, slip
    )
    assert ran.nodes.count("remediate") == 1
    assert checked(ran).values == {"result": pytest.approx(0.9951, abs=1e-4)}


@HOW
def test_a_concept_is_explained(how: dict[str, Any]) -> None:
    ran = walked("What is a p-value?", how)
    assert "code" not in ran.nodes
    assert ran.answer.text.startswith("A p-value says how often chance alone")


@HOW
def test_a_question_that_stays_unclear_lists_its_meanings_and_asks_back(how: Any) -> None:
    ran = walked("Calculate the trend coefficient", how)
    assert (ran.answer.status, ran.answer.values) == ("abstained", {})
    assert all(line in ran.answer.text for line in UNCLEAR.splitlines()[:-1])
    assert ran.answer.asks_back == UNCLEAR.splitlines()[-1]


@HOW
def test_a_distribution_is_shown(how: dict[str, Any]) -> None:
    for slips in [(), ("result = df['age'].mean()",)]:
        answer = checked(walked("show me age distribution", how, *slips))
        assert [figure.kind for figure in answer.analysis.figures] == ["plotly"]


@pytest.mark.parametrize(
    ("code", "kinds"),
    [
        (
            "fig = make_subplots(rows=1, cols=2)\nfig.add_trace(go.Histogram(x=df['age']), 1, 1)",
            "plotly",
        ),
        ("plt.hist(df['age'])\nplt.title('age')\nplt.show()", "png"),
        ("fig, axes = plt.subplots()\naxes.hist(df['age'])", "png"),
    ],
)
def test_charts_are_drawn_with_what_the_prompt_says_is_there(code: str, kinds: str) -> None:
    ran = walked("Draw a histogram of age", {"enable_grammar": False}, code)
    assert [figure.kind for figure in checked(ran).analysis.figures] == [kinds]
    assert "matplotlib.pyplot as plt" in ran.told("code")[0]
    assert "make_subplots" in ran.told("code")[0]
