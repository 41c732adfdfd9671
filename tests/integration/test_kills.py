"""Nothing is lost and nothing is paid twice: every workflow, killed at random points and resumed.

`make test` kills a few with fixed seeds, `make soak` two hundred on each store of runs.
"""

from __future__ import annotations

import os
import random
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.library import Library
from secondlook.settings import Settings
from tests.support.kills import Calls, Forker, Moment, Trial, comparable
from tests.support.scripted_server import Scripted
from tests.support.web_site import Site

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.postgres import Postgres

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks and kills as Linux does")
SOAK = bool(os.environ.get("SECONDLOOK_SOAK"))
KILLS = 200 if SOAK else 6
AT_ONCE = 2
HARBOUR = """# Harbour survey

The north quay was measured in spring. Its deepest berth is 14.2 metres at low tide.

## Dredging

Dredging of the inner basin was finished in October 2021 and cost 3.4 million euros.
"""
DEEPEST = "How deep is the deepest berth of the north quay?"
QUESTIONS = {
    "linear": DEEPEST,
    "adaptive": "How high is the tallest lighthouse of the cape?",
    "corrective": DEEPEST,
    "research": "How deep is the deepest berth, and what did the dredging cost?",
    "analyst": "What is the median of the squared depth of the berths?",
    "auto": "What did the dredging of the inner basin cost?",
}
CODE = 'result = float((df["depth"] ** 2).median())'


class World:
    """A library, a model, a web and a process that forks: what all trials share."""

    def __init__(self, folder: Path, forker: Forker, calls: Calls, model: str, web: str) -> None:
        self.folder = folder
        self._forker = forker
        self._calls = calls
        self._model = model
        self._web = web
        self._whole: dict[str, Trial] = {}

    def settings(self, name: str, store: str | None = None) -> Settings:
        runs: dict[str, Any] = {"path": self.folder / name / "runs.db"}
        web = {"enable_web_search": True, "backend": "searxng", "url": self._web}
        given = {
            "library": {"path": self.folder / "library"},
            "runs": {**runs, "store": store} if store else runs,
            "models": {"default": f"openai:{name}@{self._model}/v1", "retries": 0},
            "embedding": {"threads": 1},
            "adaptive": {"min_quality": 1.0},
            "web": {**web, "min_quality": 1.0, "allow_private": True},
        }
        return Settings.model_validate(given)

    def trial(self, workflow: str, name: str, store: str | None = None) -> Trial:
        (self.folder / name).mkdir()
        return Trial(
            self._forker,
            self._calls,
            self.settings(name, store),
            workflow,
            QUESTIONS[workflow],
            self.folder / name,
        )

    def whole(self, workflow: str) -> Trial:
        """The same question without a kill."""
        if workflow not in self._whole:
            trial = self.trial(workflow, f"whole-{workflow}")
            trial.run()
            self._whole[workflow] = trial
        return self._whole[workflow]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("kills")
    with Forker() as forker, Scripted(CODE).served() as server, Site() as site:
        site.offer("/article")
        made = World(folder, forker, Calls(server), server.url, site.url())
        papers = folder / "papers"
        papers.mkdir()
        (papers / "harbour.md").write_text(HARBOUR, encoding="utf-8")
        rows = "\n".join(f"B{number},{10 + number / 4},{1990 + number}" for number in range(30))
        (papers / "berths.csv").write_text(f"berth,depth,year\n{rows}\n", encoding="utf-8")
        with Library.open(settings=made.settings("adding")) as library:
            library.add([papers])
        yield made


def killed_and_resumed(trial: Trial, whole: Trial, seed: int) -> None:
    pick = random.Random(seed)
    paid = whole.answer["usage"]["calls"] if whole.answer else 0
    trial.run(Moment.at_random(pick, events=len(whole.events), calls=paid))
    if trial.answer is None and pick.random() < 0.3:
        trial.run(Moment.at_random(pick, events=len(whole.events), calls=paid), resumes=True)
    if trial.answer is None:
        assert trial.status() == "interrupted"
        trial.run(resumes=True)


def check(trial: Trial, whole: Trial) -> None:
    answer, expected = trial.answer, whole.answer
    assert answer is not None
    assert expected is not None
    assert comparable(answer) == comparable(expected)
    assert trial.repeated == [], "made again, though the reply was there"
    assert answer["usage"]["calls"] == expected["usage"]["calls"] + trial.lost


def kill_all(world: World, store: str, stores: list[str | None]) -> None:
    names = list(QUESTIONS)
    for workflow in names:
        world.whole(workflow)

    def one(number: int) -> tuple[int, Trial, Trial]:
        workflow = names[number % len(names)]
        trial = world.trial(workflow, f"{store}-{number}", stores[number])
        killed_and_resumed(trial, world.whole(workflow), seed=number)
        return number, trial, world.whole(workflow)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for number, trial, whole in pool.map(one, range(len(stores))):
            try:
                check(trial, whole)
            except AssertionError as error:
                error.add_note(f"{trial.workflow}, seed {number}, {trial.kills} kills")
                raise


def test_a_killed_run_is_resumed_to_the_same_answer(world: World) -> None:
    kill_all(world, "sqlite", [None] * KILLS)


def test_so_it_is_where_runs_are_kept_in_postgresql(world: World, postgres: Postgres) -> None:
    many = KILLS if SOAK else 2
    kill_all(world, "postgres", [postgres.new_database() for _ in range(many)])


def test_the_trials_have_something_to_lose(world: World) -> None:
    """Every workflow asks the model, code runs and pages are read."""
    journals = [world.whole(workflow).journal() for workflow in QUESTIONS]
    assert all(any(entry.state == "reply" for _, entry in one) for one in journals)
    kinds = {entry.kind for one in journals for _, entry in one}
    assert kinds == {"model", "web", "sandbox"}


@pytest.mark.parametrize("workflow", ["corrective", "auto"] if not SOAK else list(QUESTIONS))
def test_a_run_that_is_told_to_stop_finishes_its_step_and_is_resumed(
    world: World, workflow: str
) -> None:
    whole = world.whole(workflow)
    trial = world.trial(workflow, f"drained-{workflow}")
    trial.run(Moment(calls=1), sign=signal.SIGTERM)
    assert trial.answer is None
    assert trial.status() == "interrupted"
    assert trial.lost == 0, "the call that was under way was waited for"
    trial.run(resumes=True)
    check(trial, whole)
