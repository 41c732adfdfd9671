"""Looks twice at a result: arithmetic first, then the same code on other rows, then our own
computation of the same; a model judges only method and completeness, and only where it is asked
to."""

from __future__ import annotations

import ast
import asyncio
import json
import math
import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from langgraph.runtime import Runtime  # noqa: TC002
from pydantic import BaseModel, ConfigDict, Field

from secondlook.answer import Remedy  # noqa: TC001
from secondlook.errors import BudgetExceeded, ModelError, SandboxError, TableError
from secondlook.nodes.code.guard import parsed
from secondlook.nodes.code.write import SAME, STOPPED, run_code
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.desk import (
    asked_tables,
    desk_of,
    embedding,
    harmless_text,
    last_outcome,
    result_shown,
    shared_by,
)
from secondlook.nodes.judge.agreement import AGREEMENT, agrees, same
from secondlook.nodes.judge.arithmetic import Named, named_values, shown
from secondlook.nodes.judge.arithmetic import checks as arithmetic
from secondlook.nodes.state import (
    Alignment,
    AnalysisCheckData,
    Coding,
    Judged,
    LookedAt,
    Question,
    Remedies,
    RemedyData,
    Required,
    Trace,
    step,
    trouble,
)
from secondlook.reading.logistic import Logistic
from secondlook.roles.prompts import load
from secondlook.tables.understand.interpreter import MOST_DOUBT, understand
from secondlook.tables.understand.readings import queries

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.nodes.state import Analysed
    from secondlook.sandbox.port import Outcome, Variation

_TOO_SLOW = 10.0
"""Seconds of a run that is not made again on other rows."""


class ToEvaluate(Question, Required, LookedAt, Coding, Remedies):
    pass


class Evaluated(Judged, Trace):
    route: str


class Judgement(BaseModel):
    """The form of a model's reply."""

    model_config = ConfigDict(extra="ignore")
    valid: bool = Field(description="Whether the result answers the question by a sound method.")
    issues: list[str] = Field(default=[], json_schema_extra={"maxItems": 3})


async def evaluate_result(state: ToEvaluate, runtime: Runtime[Context]) -> Evaluated:
    context = runtime.context
    outcome = last_outcome(context, state["attempts"])
    warnings: list[dict[str, Any]] = []
    checks: list[AnalysisCheckData] = []
    if outcome is None or outcome.status != "ok":
        issues = [state["attempts"][-1]["error"] or "the code did not run"]
    else:
        checks, warnings = await _checked(context, state, outcome)
        # A check names values as the code did, or a table: those may give the next model orders.
        issues = [harmless_text(one["said"]) for one in checks if not one["passed"]]
    way, why = _way(context, state, issues)
    said = f"{sum(one['passed'] for one in checks)} of {len(checks)} checks passed."
    told = step("evaluate", said, issues=len(issues), route=(way, why))
    return {
        "checks": checks,
        "issues": issues,
        "route": way,
        "steps": [told],
        "warnings": warnings,
    }


def _way(  # noqa: PLR0911 - one line a reason
    context: Context, state: ToEvaluate, issues: list[str]
) -> tuple[str, str]:
    chosen, last = context.settings.analyst, state["attempts"][-1]
    if not issues:
        return "explain", "nothing speaks against the result"
    if last["status"] == STOPPED:
        return "explain", "nothing can be run"
    if not chosen.enable_remediation:
        return "explain", "remedies are switched off"
    if last["error"] == SAME:
        return "explain", "the same code again: no progress"
    if len(state["remedies"]) >= chosen.max_remediations:
        return "explain", f"{len(state['remedies'])} remedies have been tried"
    if not context.models.serves("code"):
        return "explain", "there is no model that could try otherwise"
    return "remediate", issues[0]


async def _checked(
    context: Context, state: ToEvaluate, outcome: Outcome
) -> tuple[list[AnalysisCheckData], list[dict[str, Any]]]:
    chosen = context.settings.analyst
    checks: list[AnalysisCheckData] = []
    warnings: list[dict[str, Any]] = []
    generated = state["query"] is None
    if chosen.enable_arithmetic:
        checks += await _by_arithmetic(context, state, outcome)
    sound = all(one["passed"] for one in checks)
    if generated and sound and chosen.enable_code_check:
        checks += await _by_variation(context, state, outcome)
    if generated and sound and chosen.enable_code_check:
        found, warnings = await _by_recomputation(context, state["question"], outcome)
        checks += found
    if all(one["passed"] for one in checks) and _is_judged(context, generated=generated):
        found, more = await _by_model(context, state, outcome)
        checks += found
        warnings = [*warnings, *more]
    return checks, warnings


async def _by_arithmetic(
    context: Context, state: ToEvaluate, outcome: Outcome
) -> list[AnalysisCheckData]:
    tables = await asked_tables(context, state["question"])
    profiles = {one.table.id: one.profile for one in tables}
    return arithmetic(
        state["question"], state["requirements"], outcome, profiles, state["resolved"]
    )


async def _by_variation(
    context: Context, state: ToEvaluate, outcome: Outcome
) -> list[AnalysisCheckData]:
    question, code = state["question"], state["attempts"][-1]["code"]
    if outcome.seconds > _TOO_SLOW:
        return []
    varied: list[Outcome] = []
    try:
        for at, vary in enumerate(wanted := variations(question, code)):
            varied.append(
                await asyncio.to_thread(run_code, context, question, code, vary=vary, seed=at + 1)
            )
    except SandboxError:  # it broke after it had worked: what it said stands
        return []
    return follows(question, code, outcome, list(zip(wanted, varied, strict=True)))


async def _by_recomputation(
    context: Context, question: str, outcome: Outcome
) -> tuple[list[AnalysisCheckData], list[dict[str, Any]]]:
    """Where our own code understands the question too."""
    try:
        tables = await asked_tables(context, question)
        read = await asyncio.to_thread(
            lambda: understand(question, tables, embed=embedding(context))
        )
        if read.best is None or read.best.operation is not None:
            return [], []
        query = queries(read.best)[0]
        computed = await asyncio.to_thread(desk_of(context).compute, query)
    except TableError as error:
        return [], [trouble("evaluate", error, "the result was not computed a second time")]
    found = agrees(query, computed, outcome)
    return ([found], []) if found is not None else ([], [])


def _is_judged(context: Context, *, generated: bool) -> bool:
    return (
        generated
        and context.settings.models.servers.judge == "model"
        and context.models.serves("judge")
    )


async def _by_model(
    context: Context, state: ToEvaluate, outcome: Outcome
) -> tuple[list[AnalysisCheckData], list[dict[str, Any]]]:
    prompt = load("analyst_judge")
    holes = await shared_by(context, state)
    try:
        reply = await context.models.ask(
            prompt.role,
            prompt.render(
                **holes, code=state["attempts"][-1]["code"], result=result_shown(outcome)
            ),
            Judgement,
            node="evaluate",
            max_tokens=prompt.max_tokens,
            final=True,
        )
    except (ModelError, BudgetExceeded) as error:
        return [], [trouble("evaluate", error, "no model judged the method")]
    said = reply.value
    if said is None:
        return [], []
    issues = [" ".join(issue.split()) for issue in said.issues if issue.strip()]
    passed = said.valid or not issues
    told = "a model holds the method for sound" if passed else "; ".join(issues)
    return [AnalysisCheckData(name="judgement", passed=passed, said=told)], []


# Finds out why a result cannot stand and who should try again: rules where the failure says it,
# else a model.

_GOES_TO: dict[Remedy, str] = {
    "rewrite_code": "code",
    "revise_requirements": "requirements",
    "reexamine_data": "profile",
    "cannot_proceed": "explain",
}
_ABOUT_DATA = re.compile(
    r"could not convert|time data|unconverted|does not match format|parse|dtype|cannot (?:convert|"
    r"compare)|not supported between|not a number|no value|empty",
    re.IGNORECASE,
)
_ABOUT_COLUMNS = re.compile(r"KeyError|no column|not in index|unknown column", re.IGNORECASE)


class ToRemedy(Question, Required, LookedAt, Alignment, Coding, Judged, Remedies):
    pass


class Planned(Remedies, Trace):
    route: str
    tries: int
    alignments: int
    query: dict[str, Any] | None


class Diagnosis(BaseModel):
    """The form of a model's reply."""

    model_config = ConfigDict(extra="ignore")
    cause: str = Field(default="", json_schema_extra={"maxLength": 300})
    action: Remedy
    guidance: str = Field(default="", json_schema_extra={"maxLength": 400})


async def remediate(state: ToRemedy, runtime: Runtime[Context]) -> Planned:
    remedy, by, warnings = await _planned(runtime.context, state)
    way = _GOES_TO[remedy["action"]]
    told = step("remediate", remedy["cause"], by=by, route=(way, remedy["guidance"]))
    return {
        "remedies": [*state["remedies"], remedy],
        # Whoever tries again has all tries before it, under the bound on all visits.
        "tries": 0,
        "alignments": 0,
        "query": None,
        "route": way,
        "steps": [told],
        "warnings": warnings,
    }


async def _planned(
    context: Context, state: ToRemedy
) -> tuple[RemedyData, str, list[dict[str, Any]]]:
    by_rules = _by_rules(state["issues"])
    if context.ledger.must_end("remediate"):
        guidance = "Nothing more may be tried: the budget or the time ran out."
        return {**by_rules, "action": "cannot_proceed", "guidance": guidance}, "rules", []
    if context.settings.models.servers.remedy == "rules" or not context.models.serves("remedy"):
        return by_rules, "rules", []
    try:
        said = await _said(context, state)
    except (ModelError, BudgetExceeded) as error:
        return by_rules, "rules", [trouble("remediate", error, "rules told the cause")]
    remedy = RemedyData(
        cause=said.cause or by_rules["cause"],
        action=said.action,
        guidance=said.guidance or by_rules["guidance"],
    )
    return remedy, context.models.name("remedy"), []


def _by_rules(issues: Sequence[str]) -> RemedyData:
    cause = "; ".join(issues)
    if _ABOUT_COLUMNS.search(cause):
        return RemedyData(
            cause=cause,
            action="revise_requirements",
            guidance="Use only columns that the tables have, by their exact names.",
        )
    if _ABOUT_DATA.search(cause):
        return RemedyData(
            cause=cause,
            action="reexamine_data",
            guidance="Mind how the values are written, and what is missing.",
        )
    return RemedyData(
        cause=cause,
        action="rewrite_code",
        guidance="Compute it in another way, from the supplied tables, so that this cannot occur.",
    )


async def _said(context: Context, state: ToRemedy) -> Diagnosis:
    prompt = load("analyst_remedy")
    holes = await shared_by(context, state)
    outcome = last_outcome(context, state["attempts"])
    reply = await context.models.ask(
        prompt.role,
        prompt.render(
            **holes,
            code=state["attempts"][-1]["code"],
            result=result_shown(outcome) if outcome else "none",
            issues="\n".join(f"- {issue}" for issue in state["issues"]),
        ),
        Diagnosis,
        node="remediate",
        max_tokens=prompt.max_tokens,
    )
    return reply.value or Diagnosis(action="rewrite_code")


# Whether a result follows from its data: the same code on the same rows in another order must
# come to the same, on other values to something else.

SHUFFLED: Final = "same_in_any_order"
CHANGED: Final = "follows_the_data"
_EXACT = 1e-9
_FITTED = 1e-6
"""Sums over rows in another order differ in their last digits; fits add to that."""
_UNCHANGED = 1e-12
_UNROUNDED = 6
"""Digits with which a number cannot stay the same by chance."""
_TELLING = 4
"""The same where several changes left it as it was."""
_LARGE = 1_000
_SATURATED = 1e-9
"""A p-value of 1e-200 is as small as it gets, whatever the data."""
_WITH_DECIMALS = re.compile(r"-?\d+\.\d+")


def variations(question: str, code: str) -> tuple[Variation, ...]:
    """The runs worth making."""
    signs = Signs(question, code)
    shuffled: tuple[Variation, ...] = () if signs.by_order else ("shuffled",)
    return (*shuffled, "perturbed", "resampled")


def follows(
    question: str,
    code: str,
    base: Outcome,
    varied: Sequence[tuple[Variation, Outcome]],
) -> list[AnalysisCheckData]:
    """`base`: what the code came to on the tables themselves. Nothing where nothing can be said."""
    if base.status != "ok":
        return []
    signs = Signs(question, code)
    ended = [(how, outcome) for how, outcome in varied if outcome.status == "ok"]
    shuffled = [outcome for how, outcome in ended if how == "shuffled"]
    changed = [outcome for how, outcome in ended if how != "shuffled"]
    found = [_in_any_order(signs, base, one) for one in shuffled[:1]]
    found.append(_on_other_values(signs, base, changed))
    return [one for one in found if one is not None]


def _in_any_order(signs: Signs, base: Outcome, shuffled: Outcome) -> AnalysisCheckData | None:
    if not base.has_result:
        return None  # points of a chart come in the order of the rows
    tolerance = _FITTED if signs.fitted else _EXACT
    equal = same(base, shuffled, tolerance=tolerance, ties=True)
    if equal is None or (not equal and signs.by_order):
        return None
    if equal:
        return {"name": SHUFFLED, "passed": True, "said": "The order of the rows does not matter."}
    said = f"With the rows in another order the result is another{_difference(base, shuffled)}."
    return {"name": SHUFFLED, "passed": False, "said": said}


def _difference(base: Outcome, other: Outcome) -> str:
    """The first number that differs."""
    pairs = zip(named_values(base), named_values(other), strict=False)
    for one, its in pairs:
        if one.number is not None and its.number is not None and one.number != its.number:
            return f" ({shown(one.number)}, then {shown(its.number)})"
    return ""


def _on_other_values(
    signs: Signs, base: Outcome, changed: Sequence[Outcome]
) -> AnalysisCheckData | None:
    if not changed:
        return None
    if not all(_unchanged(base, one) for one in changed):
        said = "With other values in the tables the result is another, as it must be."
        return {"name": CHANGED, "passed": True, "said": said}
    if signs.of_structure or not _must_change(signs, base, runs=len(changed)):
        return None
    said = "With other values in the tables the result stays the same: it does not come from them."
    return {"name": CHANGED, "passed": False, "said": said}


def _unchanged(base: Outcome, other: Outcome) -> bool:
    equal = same(base, other, tolerance=_UNCHANGED, ties=False)
    drawn = [figure.data for figure in base.figures] == [figure.data for figure in other.figures]
    return equal is not False and drawn


def _must_change(signs: Signs, base: Outcome, *, runs: int) -> bool:
    """Whether there is a figure that other values cannot leave as it is."""
    enough = _TELLING if runs > 1 else _UNROUNDED
    if any(_digits(one) >= enough for one in named_values(base)):
        return True
    if signs.of_counts:
        return False
    whole = [one.number for one in named_values(base) if one.number is not None]
    return runs > 1 and any(_LARGE <= abs(number) < math.inf for number in whole)


def _digits(value: Named) -> int:
    """Significant digits of a number with decimals; 0 for whole numbers and words."""
    if isinstance(value.value, str):
        return max(map(_significant, _WITH_DECIMALS.findall(value.value[:2_000])), default=0)
    number = value.number
    if number is None or not math.isfinite(number) or number.is_integer():
        return 0
    if abs(number) < _SATURATED:
        return 0
    return _significant(repr(number).partition("e")[0])


def _significant(written: str) -> int:
    return len(re.sub(r"\D", "", written).lstrip("0"))


# Signs, in code and question, of what a result may depend on.

_BY_ORDER: Final = frozenset(
    {"iloc", "iat", "head", "tail", "first", "last", "nth", "shift", "diff", "cumsum", "cumprod"}
    | {"cummax", "cummin", "cumcount", "rolling", "expanding", "ewm", "pct_change", "sample"}
    | {"ffill", "bfill", "pad", "interpolate", "drop_duplicates", "duplicated", "idxmax", "idxmin"}
    | {"argmax", "argmin", "argsort", "index", "iterrows", "itertuples", "enumerate", "autocorr"}
    | {"nlargest", "nsmallest", "rank", "factorize", "reset_index", "ngroup", "most_common", "at"}
    | {"merge_asof", "acf", "pacf", "adfuller", "ARIMA", "seasonal_decompose", "durbin_watson"}
    | {"ExponentialSmoothing", "cumulative_trapezoid", "islice", "pop", "next", "reduce"}
)
_BY_CHANCE: Final = frozenset(
    {"random", "random_state", "default_rng", "RandomState", "seed", "shuffle", "permutation"}
    | {"train_test_split", "KFold", "StratifiedKFold", "cross_val_score", "cross_validate"}
    | {"KMeans", "MiniBatchKMeans", "GaussianMixture", "GridSearchCV", "IsolationForest"}
    | {"RandomForestClassifier", "RandomForestRegressor", "GradientBoostingClassifier"}
    | {"GradientBoostingRegressor", "DecisionTreeClassifier", "DecisionTreeRegressor"}
    | {"MLPClassifier", "MLPRegressor", "SGDClassifier", "SGDRegressor", "LogisticRegression"}
    | {"SVC", "SVR", "TSNE", "curve_fit", "minimize", "bootstrap", "PCA", "choice", "Logit"}
)
_FITS: Final = frozenset(
    {"fit", "LinearRegression", "OLS", "ols", "lstsq", "polyfit", "linregress", "curve_fit"}
    | {"Ridge", "Lasso", "skew", "kurtosis", "kurt", "shapiro", "corr"}
)
_OF_STRUCTURE: Final = frozenset(
    {"columns", "dtypes", "dtype", "memory_usage", "info", "keys", "__version__"}
)
_OF_COUNTS: Final = frozenset(
    {
        "len",
        "shape",
        "size",
        "count",
        "nunique",
        "isna",
        "isnull",
        "notna",
        "value_counts",
        "unique",
    }
    | {"min", "max", "mode", "idxmax", "idxmin", "year", "argmax"}
)
_ORDER_ASKED = re.compile(
    r"\b(?:first|last|next|previous|consecutive|streak|in a row|cumulative|running total|rolling|"
    r"moving|lag(?:ged)?|row \d|rows? number|\d+(?:st|nd|rd|th) row|top row|listed|before|after|"
    r"autocorrelat\w*|time series|forecast\w*|random\w*|train\w*|split|cluster\w*|predict\w*|"
    r"above|below|preced\w*|follow\w*)\b",
    re.IGNORECASE,
)
_STRUCTURE_ASKED = re.compile(
    r"\b(?:columns?|variables?|features?|fields?|data ?types?|shape|dimensions?|memory)\b",
    re.IGNORECASE,
)
_COUNT_ASKED = re.compile(
    r"\b(?:how many|number of|count\w*|rows|records|minimum|maximum|min|max|highest|lowest|year|"
    r"oldest|youngest|earliest|latest|largest|smallest|most|least|range|mode)\b",
    re.IGNORECASE,
)


class Signs:
    def __init__(self, question: str, code: str) -> None:
        used = _used(code)
        self.by_chance = bool(used & _BY_CHANCE)
        """Drawn at random, or found step by step."""
        self.by_order = (
            self.by_chance
            or bool(used & _BY_ORDER)
            or _ORDER_ASKED.search(question) is not None
            or _takes_by_place(code)
        )
        """Another order of rows may change it."""
        self.fitted = bool(used & _FITS)
        self.of_structure = bool(used & _OF_STRUCTURE) and bool(_STRUCTURE_ASKED.search(question))
        """The same whatever the values are."""
        self.of_counts = bool(used & _OF_COUNTS) or _COUNT_ASKED.search(question) is not None
        """Whole numbers that other values may well leave as they are."""


def _used(code: str) -> set[str]:
    """Names, attributes and options that occur in the code."""
    tree = parsed(code)
    if not isinstance(tree, ast.Module):
        return set()
    used: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            used.add(node.id)
        elif isinstance(node, ast.Attribute):
            used.add(node.attr)
        elif isinstance(node, ast.keyword) and node.arg:
            used.add(node.arg)
        elif isinstance(node, ast.alias):
            used.update(node.name.split("."))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            used.update({node.value} & (_BY_ORDER | _OF_COUNTS))  # agg("first")
    return used


def _takes_by_place(code: str) -> bool:
    """`values[0]`, a slice, or a loop that ends before the last row."""
    tree = parsed(code)
    if not isinstance(tree, ast.Module):
        return False
    for node in ast.walk(tree):
        if isinstance(node, ast.Break):
            return True
        if isinstance(node, ast.Subscript) and _is_place(node.slice):
            return True
    return False


def _is_place(node: ast.expr) -> bool:
    if isinstance(node, ast.Slice):
        return node.lower is not None or node.upper is not None or node.step is not None
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    return isinstance(node, ast.Constant) and isinstance(node.value, int)


# How sure a result is: a probability that was fitted on questions over tables whose answers are
# known, from what the run itself saw.

FILE = "confidence.json"
"""`python -m benchmarks.analyst calibrate` makes it."""
_DIGITS = 4


def confidence(context: Context, state: Analysed) -> tuple[float | None, list[str]]:  # noqa: ARG001
    """The probability that it is right, and what speaks for and against; no probability where
    none was fitted for answers that came about like this one."""
    kind, seen = signals(
        query=state["query"],
        scores=[one["score"] for one in state["resolved"]],
        checks={one["name"]: one["passed"] for one in state["checks"]},
        attempts=len(state["attempts"]),
        remedies=len(state["remedies"]),
    )
    fitted = shipped().get(kind)
    sure = None if fitted is None else round(fitted.probability(seen), _DIGITS)
    return sure, _reasons(state)


def signals(
    *,
    query: Mapping[str, Any] | None,
    scores: Sequence[float],
    checks: Mapping[str, bool],
    attempts: int,
    remedies: int,
) -> tuple[str, dict[str, float]]:
    """How the result came about (`rows`, `statistics`, `generated`), and what the run saw of it.
    Doubts of rows and of statistics are not of one scale: each has a probability of its own.

    `query` is the reading as the state holds it, `scores` are of the columns, `checks` of the last
    result.
    """
    failed = sum(not passed for passed in checks.values())
    common = {
        "column_score": min(scores, default=1.0),
        "checks_failed": failed / len(checks) if checks else 0.0,
    }
    if query is not None:
        kind = "statistics" if query["family"] in MOST_DOUBT else "rows"
        several = float(query["answer"] in {"list", "rows"})
        return kind, {**common, "doubt": query["doubt"], "several": several}
    return "generated", {
        **common,
        "agrees": float(checks.get(AGREEMENT, False)),
        "follows": float(checks.get(SHUFFLED, False) and checks.get(CHANGED, False)),
        "attempts": float(attempts),
        "remedies": float(remedies),
    }


@cache
def shipped() -> dict[str, Logistic]:
    made = json.loads(files(__package__).joinpath(FILE).read_text("utf-8"))
    return {kind: Logistic(one["bias"], one["weights"]) for kind, one in made["fitted"].items()}


def _reasons(state: Analysed) -> list[str]:
    reasons = []
    if state["resolved"]:
        worst = min(state["resolved"], key=lambda one: one["score"])
        reasons.append(
            f"{worst['asked']!r} was taken for {worst['column']!r} ({worst['score']:.2f})"
        )
    if state["query"] is not None:
        reasons.append(f"{state['doubt']:.0%} of the question is in doubt")
    passed = sum(one["passed"] for one in state["checks"])
    if state["checks"]:
        reasons.append(f"{passed} of {len(state['checks'])} checks passed")
    if len(state["attempts"]) > 1:
        reasons.append(f"code was written {len(state['attempts'])} times")
    return reasons
