"""Runs under random budgets, and an auditor who knows nothing of the ledger: it stands at the door
of the model, knows what each call can take at worst, and bills what it took in the end."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from secondlook.errors import ModelTimeout
from secondlook.graphs import registry
from secondlook.models.chat import ChatRequest, ChatResult, Message, approximate_prompt
from secondlook.roles.follow_up import Turn
from secondlook.settings.sections import BudgetSettings, Settings
from tests.support.analyst_hostile import QUESTIONS as ABOUT_TABLES
from tests.support.analyst_hostile import TEMPERS as OF_AN_ANALYST
from tests.support.analyst_hostile import WildLibrary
from tests.support.analyst_wild import WildDesk, WildOpening
from tests.support.auto import TITLES
from tests.support.corrective_hostile import QUESTIONS as ABOUT_PLACES
from tests.support.corrective_hostile import REPLIES, opened
from tests.support.engine import HARBOUR, WordShelf, passages_of, settings_of
from tests.support.function_model import FunctionModel
from tests.support.parts import LIVES
from tests.support.research import CodeShelf
from tests.support.research_clerk import honest
from tests.support.research_hostile import QUESTIONS as RESEARCHED

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence
    from pathlib import Path

    from secondlook.answer import Answer
    from secondlook.engine.secondlook import Secondlook

    Reply = Callable[[ChatRequest, random.Random], Any]

WORKFLOWS = tuple(name for name in registry.WORKFLOWS if name != "survey")  # it asks no model
SPEC = "openai:scripted"
PRICES = ((0.0, 0.0, 0.0), (0.15, 0.6, 0.075), (3.0, 15.0, 0.3), (2.0, 2.0, 6.0))
"""Input, output and cached, in US dollars per million tokens; at last a cache that costs more."""
SUMMED_UP = ("summarise the survey", "summarise it", "overview of berths", "what is this about")
EARLIER = (Turn("How deep is Berth 4?", "7.8 metres", "Berth 4 is 7.8 metres deep.", ("Survey",)),)
FOLLOW_UP = "And how deep is it there?"
AWAY = ("timeout", "timeout", "unavailable", "model error", "crash", "unusable")


@dataclass(slots=True)
class Auditor:
    """What the provider bills, and what it could bill for what is under way."""

    budget: BudgetSettings
    price: tuple[float, float, float] | None = None
    calls: int = 0
    tokens: int = 0
    money: Fraction = Fraction(0)
    under_way: list[tuple[int, Fraction]] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    def cost(self, tokens_in: int, tokens_out: int, cached: int = 0) -> Fraction:
        if self.price is None:
            return Fraction(0)
        new, out, seen = (Fraction(str(each)) for each in self.price)
        return (new * (tokens_in - cached) + seen * cached + out * tokens_out) / 1_000_000

    def begin(self, tokens_in: int, max_tokens: int) -> tuple[int, Fraction]:
        """At worst: the whole reply, and the dearer of a prompt that was seen or was not."""
        costs = (self.cost(tokens_in, max_tokens, cached) for cached in (0, tokens_in))
        worst = (tokens_in + max_tokens, max(costs))
        self.calls += 1
        self.under_way.append(worst)
        self._check("a call was begun that could exceed")
        return worst

    def bill(self, worst: tuple[int, Fraction], tokens: int, money: Fraction) -> None:
        self.under_way.remove(worst)
        self.tokens += tokens
        self.money += money
        self._check("over")

    def _check(self, what: str) -> None:
        could = (
            ("calls", self.calls),
            ("tokens", self.tokens + sum(one[0] for one in self.under_way)),
            ("money", self.money + sum((one[1] for one in self.under_way), Fraction(0))),
        )
        for name, taken in could:
            cap = Fraction(str(getattr(self.budget, name)))
            if cap and taken > cap:
                self.broken.append(f"{what}: {float(taken)} of {float(cap)} {name}")


class ScriptedModel(FunctionModel):
    """Says what its moods say, and bills something between nothing and all that it may."""

    def __init__(self, pick: random.Random) -> None:
        super().__init__(
            self._reply,
            spec=SPEC,
            context=pick.choice([None, 8192, 8192, 900]),
            local=pick.random() < 0.3,
        )
        self._pick = pick
        self.moods: list[Reply] = []
        self.auditor = Auditor(BudgetSettings())

    def _reply(self, request: ChatRequest) -> Any:
        return self._pick.choice(self.moods)(request, self._pick)

    async def complete(
        self, request: ChatRequest, on_text: Callable[[str], None] | None = None
    ) -> ChatResult:
        prompt = await self.count(request.messages)
        worst = self.auditor.begin(prompt, request.max_tokens)
        tokens, money = 0, Fraction(0)
        try:
            for _ in range(self._pick.randrange(4)):  # others come in between
                await asyncio.sleep(0)
            result = self._billed(await super().complete(request, on_text), prompt)
            used = result.tokens_in, result.tokens_out, result.tokens_cached
            tokens, money = used[0] + used[1], self.auditor.cost(*used)
        except (ModelTimeout, asyncio.CancelledError):
            tokens, money = worst  # nobody has heard of it, and it was all done
            raise
        else:
            return result
        finally:
            self.auditor.bill(worst, tokens, money)

    def _billed(self, result: ChatResult, prompt: int) -> ChatResult:
        tokens_in = self._pick.choice([prompt, self._pick.randint(1, prompt)])
        cached = self._pick.choice([0, self._pick.randint(0, tokens_in)])
        return ChatResult(
            result.text, result.finish, tokens_in, result.tokens_out, tokens_cached=cached
        )

    async def count(self, messages: Sequence[Message]) -> int:
        return approximate_prompt(messages)


# What is asked, and of what


def some_moods(pick: random.Random, workflow: str) -> list[Reply]:
    """Mostly of good will, so that runs get somewhere."""
    own: dict[str, Reply] = {
        "research": lambda request, _: honest(request),
        "analyst": OF_AN_ANALYST["fitting"],
        "auto": _by_prompt,
    }
    well = own.get(workflow, REPLIES["honest"])
    wild = [REPLIES[name] for name in pick.sample(list(REPLIES), pick.choice([0, 1, 4]))]
    away = [REPLIES[name] for name in pick.sample(AWAY, pick.choice([0, 0, 1, 3]))]
    return [well] * pick.choice([1, 4, 12]) + wild + away


def _by_prompt(request: ChatRequest, pick: random.Random) -> Any:
    """`auto` may call anybody."""
    mine = pick.choice([REPLIES["honest"], OF_AN_ANALYST["fitting"]])
    try:
        return mine(request, pick)
    except KeyError:  # it does not know this step
        return REPLIES["honest"](request, pick)


def question_for(pick: random.Random, workflow: str) -> str:
    asked = {
        "research": RESEARCHED,
        "analyst": ABOUT_TABLES,
        "summary": SUMMED_UP,
        "auto": (*ABOUT_TABLES, *ABOUT_PLACES, *SUMMED_UP),
    }
    return pick.choice(asked.get(workflow, ABOUT_PLACES))


class LibraryOfTables(WildLibrary):
    def documents(self, **_: Any) -> tuple[Any, ...]:
        return TITLES


def shelf_for(pick: random.Random, workflow: str) -> WordShelf:
    if workflow == "research":
        return CodeShelf()
    long = tuple(("survey", f"Berth {at} is {at} metres deep. {HARBOUR[1][1]}") for at in range(40))
    return WordShelf(held=passages_of(pick.choice([(*HARBOUR, *LIVES), long])))


# Budgets


def some_budget(pick: random.Random) -> dict[str, float]:
    """From nothing to plenty, each cap alone and together with others."""
    drawn = {
        "calls": pick.choice([1, 2, 3, 4, 5, 6, 20]),
        "tokens": int(10 ** pick.choice([pick.uniform(1.5, 4.6), pick.uniform(2.8, 3.8)])),
        "money": round(10 ** pick.uniform(-6, -1), 9),
        "seconds": pick.choice([0.02, 0.05, 30.0, 1e6]),
    }
    chances = {"calls": 0.4, "tokens": 0.5, "money": 0.4, "seconds": 0.1}
    return {name: cap for name, cap in drawn.items() if pick.random() < chances[name]}


def some_settings(pick: random.Random, price_file: Path | None) -> Settings:
    return settings_of(
        runs={"keep": 0},
        models={"default": SPEC, "retries": pick.choice([0, 1, 2]), "prices": price_file},
        answer={
            "enable_answer_grading": pick.random() < 0.3,
            "k": pick.choice([2, 5]),
            # Little evidence leaves room for other calls, and makes many parts of a summary.
            "evidence_tokens": pick.choice([0, 64, 64, 200]),
        },
        corrective={
            "grader": pick.choice(["reader", "llm-batch", "llm-each", "llm-each"]),
            "grounded_judge": pick.choice(["reader", "llm"]),
            "useful_judge": pick.choice(["reader", "llm"]),
        },
        research={"enable_memory": False, "enable_screen_model": pick.random() < 0.5},
        analyst={
            "enable_grammar": pick.random() < 0.3,
            "requirements": pick.choice(["rules", "model"]),
            "remedies": pick.choice(["rules", "model"]),
            "explain": pick.choice(["template", "model"]),
        },
    )


@dataclass(frozen=True, slots=True)
class Case:
    question: str
    budget: BudgetSettings
    auditor: Auditor
    answer: Answer


def price_files(folder: Path) -> Iterator[tuple[tuple[float, float, float] | None, Path | None]]:
    """Each price in a file of its own; at last none is known."""
    for at, price in enumerate(PRICES):
        file = folder / f"prices{at}.toml"
        told = "\n".join(
            f"{name} = {each}"
            for name, each in zip(("input", "output", "cached"), price, strict=True)
        )
        file.write_text(f'["{SPEC}"]\n{told}\n', encoding="utf-8")
        yield price, file
    yield None, None


async def cases(workflow: str, seed: int, count: int, folder: Path) -> AsyncIterator[Case]:
    """Runs under the same settings, each with a budget of its own: a graph takes longer to build
    than to run."""
    pick = random.Random(f"{workflow} {seed}")
    price, file = pick.choice(list(price_files(folder)))
    settings = some_settings(pick, file)
    model = ScriptedModel(pick)
    library = LibraryOfTables(settings, None)
    engine = opened(settings, library, model)
    for _ in range(count):
        supply(engine, library, pick, shelf_for(pick, workflow))
        budget = BudgetSettings.model_validate(some_budget(pick))
        model.auditor, model.moods = Auditor(budget, price), some_moods(pick, workflow)
        follows = workflow in {"linear", "corrective"} and pick.random() < 0.2
        question = FOLLOW_UP if follows else question_for(pick, workflow)
        earlier = EARLIER if follows else ()
        answer = await engine.aask(question, workflow=workflow, earlier=earlier, budget=budget)
        yield Case(question, budget, model.auditor, answer)


def supply(engine: Secondlook, library: LibraryOfTables, pick: random.Random, held: Any) -> None:
    """What is asked about: a shelf, a desk that works, and a sandbox that may not."""
    library.held, library.laid_out = held, WildDesk("customers", pick, ("",))
    engine._sandbox = WildOpening(pick)  # type: ignore[assignment]  # instead of a real one
