"""What a question over tables costs with hosted models: from the tokens of recorded calls and the
price file, with one model or one for each step, and with a provider's cache or without.

    python -m benchmarks.analyst_cost

The workflow runs as the preset `seed-002` sets it, a model call at every step, over tables made
here, in the real sandbox. The model is a script that reads its prompts, so that the calls are the
same every time. Tokens are counted as Secondlook counts before it asks, rather too high than too
low. Two things make a real bill larger or smaller: models that think bill tokens nobody sees,
which are not counted here; and the cached column is an estimate, *if* the provider caches every
prefix that an earlier call to the same model shares byte for byte, from 1,024 tokens on and in
steps of 128 (https://platform.openai.com/docs/guides/prompt-caching). What Secondlook reports of a
run counts cached tokens only where the provider says so.

Writes `benchmarks/results/analyst_cost.json`.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from benchmarks.eval_runs import RESULTS, write_results
from secondlook.models.counting import approximate_prompt, approximate_tokens
from secondlook.models.prices import Prices
from secondlook.models.specs import parse_spec
from secondlook.settings import load
from tests.support.analyst import CUSTOMERS, Script, run, step_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.models import ChatRequest

PRESET = "seed-002"
STEPS = ("understand", "require", "code", "judge", "remedy", "explain")
ONE = "openai:gpt-5.1"
TIERS = {
    "understand": "openai:gpt-5-nano",
    "require": "openai:gpt-5.1",
    "code": "openai:gpt-5.1",
    "judge": "openai:gpt-5.1",
    "remedy": "openai:gpt-5.1",
    "explain": "openai:gpt-5-mini",
}
"""The seed's; its `gpt-5.1-codex` costs what `gpt-5.1` does by the seed's own table."""
SEED = {"without_caching": 0.028, "with_caching": 0.014, "monthly": [840.0, 420.0]}
LEAST_CACHED, CACHED_BY = 1024, 128
A_MONTH = 30
A_DAY = 1000


@dataclass(frozen=True, slots=True)
class Call:
    step: str
    prompt: str
    tokens_in: int
    tokens_out: int


@dataclass(slots=True)
class Recorder:
    """A scripted model, and what it was asked."""

    script: Script
    calls: list[Call] = field(default_factory=list)

    def __call__(self, request: ChatRequest) -> str:
        said = self.script(request)
        prompt = "\n".join(f"{one.role}\n{one.content}" for one in request.messages)
        step = step_of(request.messages[-1].content)
        tokens = approximate_prompt(request.messages)
        self.calls.append(Call(step, prompt, tokens, approximate_tokens(said)))
        return said

    @property
    def prompts(self) -> list[tuple[str, str]]:
        return self.script.prompts


@dataclass(frozen=True, slots=True)
class Scenario:
    question: str
    script: Script
    tables: Mapping[str, Any]
    profile_tokens: int = 700


def main() -> None:
    found = {name: _costed(scenario) for name, scenario in _scenarios().items()}
    print(json.dumps(found, indent=1))
    write_results(
        RESULTS / "analyst_cost.json",
        "python -m benchmarks.analyst_cost",
        {
            "preset": PRESET,
            "tokens": "as Secondlook counts before it asks; thinking is not counted",
            "cached": "an estimate: every prefix shared with an earlier call to the same model, "
            f"from {LEAST_CACHED} tokens on, in steps of {CACHED_BY}",
            "one_model": ONE,
            "tiers": TIERS,
            "seed": {**SEED, "questions_a_month_that_fit": round(840 / 0.028)},
            "scenarios": found,
        },
    )


def _scenarios() -> dict[str, Scenario]:
    small, wide = {"customers": CUSTOMERS}, {"panel": _wide()}
    return {
        "small table": Scenario("How do age and income go together?", _correlation(), small),
        "small table, one remedy": Scenario(
            "How do age and income go together?", _correlation(wrong_first=True), small
        ),
        "240 columns": Scenario("How do m0_a and m0_b go together?", _of_wide(), wide),
        "240 columns, long profile": Scenario(
            "How do m0_a and m0_b go together?", _of_wide(), wide, profile_tokens=4000
        ),
        "240 columns, long profile, one remedy": Scenario(
            "How do m0_a and m0_b go together?",
            _of_wide(wrong_first=True),
            wide,
            profile_tokens=4000,
        ),
    }


def _wide() -> dict[str, list[Any]]:
    """As many columns as a survey has, with values that differ."""
    return {
        f"m{group}_{letter}": [(at * 37 + group * 11 + place * 7) % 101 for at in range(40)]
        for group in range(40)
        for place, letter in enumerate("abcdef")
    }


def _correlation(*, wrong_first: bool = False) -> Script:
    return _script("age", "income", "df", wrong_first=wrong_first)


def _of_wide(*, wrong_first: bool = False) -> Script:
    return _script("m0_a", "m0_b", "df", wrong_first=wrong_first)


def _script(one: str, other: str, frame: str, *, wrong_first: bool) -> Script:
    """As long as such replies of a model are."""
    code = (
        f"pair = {frame}[['{one}', '{other}']].dropna()\n"
        f"r, p = stats.pearsonr(pair['{one}'], pair['{other}'])\n"
        "result = {'correlation': float(r), 'p_value': float(p), 'rows': len(pair)}\n"
        f"fig = px.scatter(pair, x='{one}', y='{other}', title='{one} and {other}')"
    )
    judged = ['{"valid": false, "issues": ["The rows without a value are not told."]}']
    sound = '{"valid": true, "issues": []}'
    return Script(
        require=json.dumps(
            {
                "variables": [one, other],
                "constraints": ["rows in which both values are there"],
                "analysis": "correlation",
                "success": "the coefficient, its p-value and the number of rows",
            }
        ),
        code=[f"{code}\n# first try", code] if wrong_first else code,
        judge=[*judged, sound] if wrong_first else sound,
        remedy=json.dumps(
            {
                "cause": "rows without a value were dropped and nobody is told how many",
                "action": "rewrite_code",
                "guidance": "say how many rows the coefficient rests on",
            }
        ),
        explain=f"{one} and {other} go together as the coefficient says. A p-value below 0.05 is "
        "taken for more than chance. It says nothing about causes, and few rows stand behind it.",
    )


def _costed(scenario: Scenario) -> dict[str, Any]:
    analyst = load(preset=PRESET).settings.analyst
    recorder = Recorder(scenario.script)
    set_so = {**analyst.model_dump(), "profile_tokens": scenario.profile_tokens}
    ran = run(scenario.question, recorder, tables=scenario.tables, **set_so)
    calls = recorder.calls
    print(f"{ran.answer.status}: {[call.step for call in calls]}", file=sys.stderr)
    one, tiers = dict.fromkeys(STEPS, ONE), TIERS
    return {
        "status": ran.answer.status,
        "calls": [
            {
                "step": call.step,
                "in": call.tokens_in,
                "out": call.tokens_out,
                "prefix_one_model": cached,
                "prefix_tiers": of_tiers,
            }
            for call, cached, of_tiers in zip(
                calls, _prefixes(calls, one), _prefixes(calls, tiers), strict=True
            )
        ],
        "tokens_in": sum(call.tokens_in for call in calls),
        "tokens_out": sum(call.tokens_out for call in calls),
        "dollars": {
            "one model": _dollars(calls, one, cache=False),
            "one model, cached": _dollars(calls, one, cache=True),
            "tiers": _dollars(calls, tiers, cache=False),
            "tiers, cached": _dollars(calls, tiers, cache=True),
        },
        f"monthly at {A_DAY:,} a day": {
            "one model": round(_dollars(calls, one, cache=False) * A_DAY * A_MONTH, 2),
            "tiers, cached": round(_dollars(calls, tiers, cache=True) * A_DAY * A_MONTH, 2),
        },
    }


def _prefixes(calls: Sequence[Call], model_of: Mapping[str, str]) -> list[int]:
    """Tokens at the start of each prompt that an earlier one to the same model had as well."""
    found = []
    for at, call in enumerate(calls):
        earlier = [one for one in calls[:at] if model_of[one.step] == model_of[call.step]]
        shared = max((_same_start(one.prompt, call.prompt) for one in earlier), default=0)
        found.append(min(call.tokens_in, approximate_tokens(call.prompt[:shared])))
    return found


def _same_start(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _cacheable(tokens: int) -> int:
    return tokens // CACHED_BY * CACHED_BY if tokens >= LEAST_CACHED else 0


def _dollars(calls: Sequence[Call], model_of: Mapping[str, str], *, cache: bool) -> float:
    prices, total = Prices(), Decimal(0)
    for call, prefix in zip(calls, _prefixes(calls, model_of), strict=True):
        price = prices.of(parse_spec(model_of[call.step]))
        if price is None:
            raise SystemExit(f"the price of {model_of[call.step]} is not known")
        cached = _cacheable(prefix) if cache else 0
        total += price.of(
            tokens_in=call.tokens_in, tokens_out=call.tokens_out, tokens_cached=cached
        )
    return round(float(total), 6)


if __name__ == "__main__":
    main()
