"""Nothing is lost and nothing is paid twice: every workflow, killed at random points and resumed.
`make test` kills a few with fixed seeds, `make soak` two hundred on each store of runs. A process
that takes up what was killed goes on with the next question and is killed there."""

from __future__ import annotations

import os
import random
import signal
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.library.library import Library
from secondlook.settings.sections import Settings
from tests.support.kills import Calls, Forker, Moment, Process, Trial, comparable
from tests.support.scripted_server import Scripted
from tests.support.web_site import Site

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tests.support.postgres import Postgres

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks and kills as Linux does")
SOAK = bool(os.environ.get("SECONDLOOK_SOAK"))
PIECES = range(10 if SOAK else 1)
"""The soak is done in pieces, each with seeds of its own: a stop loses little."""
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
TURNS = ["linear", "adaptive", "corrective", "research", "auto"] * 2 + ["analyst"]
"""A sandbox takes longer to start than all the rest."""
EACH = 91 * len(TURNS)
"""Seeds of a piece; by them the few trials of `make test` are of all workflows."""
CODE = 'result = float((df["depth"] ** 2).median())'


class World:
    """A library, a model, a web and a process that forks: what all trials share."""

    def __init__(self, folder: Path, forker: Forker, calls: Calls, model: str, web: str) -> None:
        self.folder = folder
        self._forker = forker
        self._calls = calls
        self._model = model
        self._web = web
        self.whole: dict[str, Trial] = {}
        """The same questions without a kill."""

    def settings(self, name: str, store: str | None = None) -> Settings:
        runs: dict[str, Any] = {"path": self.folder / name / "runs.db"}
        web = {"enable_web_search": True, "url": self._web}
        given = {
            "library": {"path": self.folder / "library"},
            "runs": {**runs, "store": store} if store else runs,
            "models": {
                "default": f"openai:{name}@{self._model}/v1",
                "options": ["all.retries=0", "all.context_tokens=8000"],
                "servers": {"support": "coverage"},
            },
            "embedding": {"threads": 1},
            "adaptive": {"min_quality": 1.0},
            "web": {**web, "min_quality": 1.0, "allow_private": True},
        }
        return Settings.model_validate(given)

    def trial(self, workflow: str, name: str, store: str | None = None) -> Trial:
        (self.folder / name).mkdir()
        return Trial(self.settings(name, store), workflow, QUESTIONS[workflow])

    def work(self, trials: Sequence[Trial], moment: Moment | None = None, *, sign: int = 9) -> bool:
        return Process(self._calls, trials).work(self._forker, self.folder, moment, sign=sign)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("kills")
    with Forker() as forker, Scripted(CODE, salt="a").served() as server, Site() as site:
        site.offer("/article")
        made = World(folder, forker, Calls(server), server.url, site.url())
        papers = folder / "papers"
        papers.mkdir()
        (papers / "harbour.md").write_text(HARBOUR, encoding="utf-8")
        rows = "\n".join(f"B{number},{10 + number / 4},{1990 + number}" for number in range(30))
        (papers / "berths.csv").write_text(f"berth,depth,year\n{rows}\n", encoding="utf-8")
        with Library.open(settings=made.settings("adding")) as library:
            library.add([papers])
        made.whole = {name: made.trial(name, f"whole-{name}") for name in QUESTIONS}
        trials = list(made.whole.values())
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(made.work, [trials[at::AT_ONCE] for at in range(AT_ONCE)]))
        yield made


class Chain:
    """Processes, each of which takes up what the one before left, begins another question, and is
    killed."""

    def __init__(self, world: World, name: str, stores: Sequence[str | None]) -> None:
        self._world = world
        self._name = name
        self._free = list(stores)
        self._left: list[Trial] = []
        self.done: list[Trial] = []
        self.where: Counter[str] = Counter()
        """What the last event before each kill was."""

    def run(self, first: int, kills: int) -> None:
        seed = first
        while self.where.total() < kills:
            self._kill(seed)
            seed += 1
        self._finish(self._left)

    def _kill(self, seed: int) -> None:
        pick = random.Random(seed)
        workflow = TURNS[seed % len(TURNS)]
        trials = [*self._left]
        if self._free:
            trials.append(self._world.trial(workflow, f"{self._name}-{seed}", self._free.pop(0)))
        # Now and then it is the one that was killed before.
        since = 0 if pick.random() < 0.25 else len(trials) - 1
        whole = self._world.whole[trials[since].workflow]
        self._finish(trials, Moment.at_random(pick, whole, since=since))

    def _finish(self, trials: list[Trial], moment: Moment | None = None) -> None:
        killed = bool(trials) and self._world.work(trials, moment)
        self._left = [trial for trial in trials if trial.answer is None]
        if killed and self._left:
            self.where[f"{self._left[0].workflow}: {self._left[0].last or 'nothing'}"] += 1
        assert killed or not self._left
        for trial in trials:
            if trial.answer is not None:
                check(trial, self._world.whole[trial.workflow])
                self.done.append(trial)
                trial.forget()
                self._free.append(str(store) if (store := trial.settings.runs.store) else None)
        assert all(trial.status in {"interrupted", None} for trial in self._left)


def check(trial: Trial, whole: Trial) -> None:
    assert trial.answer is not None
    assert whole.answer is not None
    try:
        assert comparable(trial.answer) == comparable(whole.answer)
        assert trial.repeated == [], "made again, though the reply was there"
        assert trial.answer["usage"]["calls"] == whole.answer["usage"]["calls"] + trial.lost
    except AssertionError as error:
        error.add_note(f"{trial.workflow}, {trial.model}, {trial.kills} kills")
        raise


def kill_all(world: World, name: str, first: int, kills: int, stores: Sequence[str | None]) -> None:
    """Two chains at once, each with stores of its own; `first` is the first seed."""
    chains = [
        Chain(world, f"{name}-{first}-{number}", stores[number::AT_ONCE])
        for number in range(AT_ONCE)
    ]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        begun = [
            pool.submit(chain.run, first + 503 * number, kills // AT_ONCE)
            for number, chain in enumerate(chains)
        ]
    for one in begun:
        one.result()
    done = [trial for chain in chains for trial in chain.done]
    where = sum((chain.where for chain in chains), Counter[str]())
    lost = sum(trial.lost for trial in done)
    useless = sum(entry.parse_failures for trial in done for _, entry in trial.journal)
    print(  # noqa: T201  # shown by make soak
        f"{name} {first}: {where.total()} kills of {len(done)} runs, {lost} calls under way, "
        f"{useless} replies of no use; {dict(where)}"
    )
    assert where.total() >= kills
    assert sum(trial.kills for trial in done) >= kills // 2, "most of them hit a run"


@pytest.mark.parametrize("piece", PIECES)
def test_a_killed_run_is_resumed_to_the_same_answer(world: World, piece: int) -> None:
    kill_all(world, "sqlite", EACH * piece, 20 if SOAK else 4, [None] * 4)


@pytest.mark.parametrize("piece", PIECES)
def test_so_it_is_where_runs_are_kept_in_postgresql(
    world: World, postgres: Postgres, piece: int
) -> None:
    stores = [postgres.new_database() for _ in range(2 * AT_ONCE)]
    kill_all(world, "postgres", EACH * (100 + piece) + 2, 20 if SOAK else 2, stores)


def test_the_trials_have_something_to_lose(world: World) -> None:
    """Every workflow asks the model, code runs, pages are read, and replies are of no use."""
    journals = [trial.journal for trial in world.whole.values()]
    assert all(any(entry.state == "reply" for _, entry in one) for one in journals)
    assert {entry.kind for one in journals for _, entry in one} == {"model", "web", "sandbox"}
    of_no_use = [any(entry.parse_failures for _, entry in one) for one in journals]
    assert any(of_no_use), "paid for, and asked for again"


@pytest.mark.parametrize("workflow", ["corrective"] if not SOAK else list(QUESTIONS))
def test_a_run_that_is_told_to_stop_finishes_its_step_and_is_resumed(
    world: World, workflow: str
) -> None:
    trial = world.trial(workflow, f"drained-{workflow}")
    assert world.work([trial], Moment(calls=1), sign=signal.SIGTERM)
    assert trial.answer is None
    assert trial.status == "interrupted"
    assert trial.lost == 0, "the call that was under way was waited for"
    world.work([trial])
    check(trial, world.whole[workflow])
