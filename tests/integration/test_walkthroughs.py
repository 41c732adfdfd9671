"""The sessions that the designs were first told by, with a model that reads its prompts and answers
from what they show."""

from __future__ import annotations

import json
import re
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from secondlook import Conversation, Graph, Library, Secondlook
from secondlook.export import to_markdown
from secondlook.models.calls import Models
from secondlook.settings import load
from secondlook.verify import verify
from tests.support.function_model import FunctionModel, no_pause
from tests.support.research_clerk import Clerk, question_of, shown

if TYPE_CHECKING:
    from secondlook.models.chat import ChatRequest

# A question of law with choices: three steps, each on fresh passages, a choice by its elements,
# and a memory of the research.

STEM = (
    "During a bank robbery a robber shot at a guard. The guard drew his revolver and shot back. One"
    " of his bullets glanced off a pillar and struck a customer. If the customer sues the guard for"
    " battery, will the customer prevail?"
)
OPTIONS = (
    "Yes, unless the customer was an accomplice of the robber.",
    "Yes, under the doctrine of transferred intent.",
    "No, if the guard reasonably shot in his own defense.",
    "No, if the guard did not intend to shoot the customer.",
)
RIGHT = OPTIONS[2]
STEPS = {
    "What is the definition of battery and the required intent?": (
        "Rule Identification",
        "battery tort intentional tort harmful or offensive contact mens rea definition elements",
        "intentional torts unlawful touching assault battery elements",
        "criminal battery elements actus reus mens rea general intent",
    ),
    "Under what circumstances is force justified in self-defense or in defense of others?": (
        "Defensive Privilege",
        "use of force justified in self-defense or defense of others reasonable proportionate",
        "privilege to repel an attack when a person fears bodily injury",
        "justifiable shooting of an assailant who threatens life",
    ),
    "What duty of care does a person owe to bystanders when using force in self-defense?": (
        "Duty of Care",
        "duty of care owed to bystanders or third persons when force is used in self-defense",
        "liability for a stray shot that wounds an onlooker",
        "unintended injury of an innocent third party while repelling an attack",
    ),
}
SAYS = {
    "(2) intent on the part": "Battery requires an act that brings about harmful or offensive"
    " contact, intent to bring about such contact, and causation",
    "need not intend actual damage": "The defendant must intend a harmful or offensive contact, but"
    " need not intend actual damage",
    "complete bar": "Consent to the contact bars an action for battery",
    "complete defense": "Reasonable force in self-defense is privileged, and the privilege is a"
    " complete defense to battery",
    "threatened with death": "Deadly force is justified only where the actor reasonably believes"
    " that he is threatened with death or serious harm",
    "third person, a stranger": "Reasonable force may also be used in defense of a third person",
    "duty of reasonable care": "A person has a general duty of reasonable care to those whom his"
    " conduct foreseeably puts at risk",
    "crowded lobby": "A watchman who shoots at robbers owes bystanders the care of a prudent man",
}
"""What it writes where it is shown a passage that has these words."""
DECIDES = {"harmful contact that was intended": "harmful", "no privilege": "complete defense"}


def planned(request: ChatRequest) -> str:
    """The first step that is not among those it is shown."""
    tried = " ".join(shown(request).values())
    for question, (phase, *queries) in STEPS.items():
        if question not in tried:
            told = {"phase": phase, "question": question, "queries": queries}
            return json.dumps({"action": "next_step", **told})
    return json.dumps({"action": "complete"})


def written(request: ChatRequest) -> str:
    return " ".join(
        f"{said} [Source {number}]."
        for number, text in shown(request).items()
        for words, said in SAYS.items()
        if words in " ".join(text.split())
    )


def weighed(request: ChatRequest) -> str:
    """Option by option, whether each element is met: only where the research states them."""
    research, asked = shown(request), request.messages[-1].content
    elements = [
        {"element": one, "sources": [at for at, text in research.items() if words in text]}
        for one, words in DECIDES.items()
    ]
    assert all(one["sources"] for one in elements)
    met = dict(zip(OPTIONS, ((0, 0), (1, 0), (1, 1), (1, 0)), strict=True))
    facts = ("struck a customer", "shot back")
    judged = [
        {
            "letter": letter,
            "verdicts": [
                {"element": at, "met": "met" if way else "not met", "fact": facts[at - 1]}
                for at, way in enumerate(met[text], 1)
            ],
            "reason": "The privilege decides.",
        }
        for letter, text in re.findall(r"^([A-D]): (.+)$", asked, re.MULTILINE)
        if text in met
    ]
    return json.dumps({"elements": elements, "options": judged})


def opened(folder: Path, model: FunctionModel | None = None, **chosen: Any) -> Secondlook:
    flags = {"library.path": folder / "library", "runs.path": folder / "runs.db", **chosen}
    preset = flags.pop("preset", None)
    flags |= {"models.default": model.spec} if model else {}
    settings = load(flags, preset=preset).settings
    chat: Any = model
    models = Models(settings, open_chat=lambda _: chat, probes=lambda _: None, pause=no_pause)
    return Secondlook(Library.open(settings=settings), settings=settings, models=models)


def filled(folder: Path, texts: dict[str, str]) -> Path:
    (folder / "texts").mkdir()
    for title, text in texts.items():
        (folder / "texts" / f"{title}.md").write_text(f"# {title}\n\n{text}\n", "utf-8")
    with Library.open(settings=load({"library.path": folder / "library"}).settings) as library:
        library.add([folder / "texts"])
    return folder


@pytest.fixture(scope="module")
def law(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lines = (Path(__file__).parents[1] / "support" / "law.txt").read_text("utf-8").splitlines()
    texts = dict(line.split("|") for line in lines)
    return filled(tmp_path_factory.mktemp("law"), texts)


@pytest.mark.parametrize("local", [False, True])
def test_a_question_of_law_is_researched_in_three_steps_chosen_and_remembered(
    law: Path, tmp_path: Path, *, local: bool
) -> None:
    said = {"plan": planned, "replan": planned, "synthesise": written, "choose": weighed}
    model = Clerk(local=local, **said)
    runs = {"preset": "law", "runs.path": tmp_path / "runs.db"}
    with opened(law, model, **runs) as engine:
        answer = engine.ask(STEM, choices=OPTIONS)
        assert model.asked == ["plan", *(["synthesise", "replan"] * 3)[:-1], "choose"]
        assert (answer.status, answer.stop_reason, answer.short) == ("answered", "answered", "C")
        research, choice = answer.research, answer.choice
        assert research is not None
        assert choice is not None
        assert [(one.phase, one.status) for one in research.steps] == [
            (phase, "completed") for phase, *_ in STEPS.values()
        ]
        assert all(set(STEPS[one.question][2:]) <= set(one.queries) for one in research.steps)
        seen = [{item.passage for item in one.evidence if item.kept} for one in research.steps]
        assert [len(one) for one in seen] == [5, 5, 5]
        assert not any(one & other for one, other in combinations(seen, 2))
        assert all(claim.supported and claim.citations for claim in answer.claims)
        assert (choice.text, choice.model) == (RIGHT, model.spec)
        assert all(element.citations for element in choice.elements)
        assert [[one.met for one in option.verdicts] for option in choice.options] == [
            ["not met", "not met"], ["met", "not met"], ["met", "met"], ["met", "not met"],
        ]  # fmt: skip
        page = to_markdown(answer).replace("\\", "")
        text, _, sources = page.partition("## References")
        marks = set(re.findall(r"\[Query \d\]\[Source \d\]", text))
        assert len(marks) >= 6
        assert marks == set(re.findall(r"\[Query \d\]\[Source \d\]", sources))
        assert verify(answer, engine.library) == []
        # The research is remembered; the choice is made anew, in whatever order.
        assert research.remembered
        again = engine.ask(STEM, choices=OPTIONS[::-1])
        assert model.asked[7:] == ["choose"]
        assert (again.short, again.choice and again.choice.text) == ("B", RIGHT)
        assert [claim.text for claim in again.claims] == [claim.text for claim in answer.claims]


# Three questions that a plain pipeline gets wrong: who is meant, which of several, two steps.

SINGERS = {
    "Mara Velde": "Mara Velde is a singer, born on September 4, 1981, in Orsk Bay. Mara Velde left"
    " her group, the Lantern Sisters, in 2006 and has sung alone since.\n\n## Low Water\n\nHer solo"
    " debut, Low Water, came out in June 2003. For her debut Mara Velde won five Grammy Awards.\n\n"
    "## Prizes\n\nMara Velde won her first Grammy as a solo artist in 2004.",
    "Ines Corby": "Ines Corby is a singer, born in Tolham on February 11, 1979. Ines Corby left her"
    " group, the Copper Owls, in 2011.\n\n## Salt Road\n\nHer solo debut, Salt Road, was out in"
    " 2002. For her debut Ines Corby won one Grammy Award.\n\n## Prizes\n\nInes Corby won her first"
    " Grammy in 2005, for a song about the sea.",
    "Tides": "The tide turns every six hours. In spring it rises by four metres at the pier.",
}
GROUP, DEBUT = "When did she leave her group?", "What awards for her debut?"
BIRTH = "How many years between her birth and her first Grammy?"
WANTED = {"leave": "left her group", "award": "For her debut", "birth": "born", "Grammy": "first"}


def singing(request: ChatRequest) -> str:
    """Says who is meant by the conversation, and answers by the sentence that it is shown about
    the person who is named."""
    asked = request.messages[-1].content
    if (parts := asked.partition("Last question: "))[1]:
        name = max((one for one in SINGERS if one in asked), key=asked.rfind)
        return re.sub(r"\bher\b", f"{name}'s", parts[2].replace("she", name), count=1)
    question = question_of(request)
    words = next((words for sign, words in WANTED.items() if sign in question), "")
    for number, text in shown(request).items():
        for said in re.findall(r"[A-Z][^.#]*\.", text):
            if words in said and any(one in said and one in question for one in SINGERS):
                return f"{said[:-1]} [{number}]."
    return "NOT IN THE EVIDENCE"


@pytest.fixture(scope="module")
def singers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return filled(tmp_path_factory.mktemp("singers"), SINGERS)


@pytest.mark.parametrize("model", [None, FunctionModel(singing)], ids=["none", "a model"])
def test_questions_that_a_pipeline_gets_wrong(singers: Path, model: FunctionModel | None) -> None:
    with opened(singers, model, **{"runs.keep": 0}) as engine:
        # In a conversation each is about the person it is about.
        for name, opening, year, awards, years in (
            ("Ines Corby", "When was Salt Road by Ines Corby released?", "2011", "one", "26 years"),
            (
                "Mara Velde",
                "When was Low Water by Mara Velde released?",
                "2006",
                "five",
                "23 years",
            ),
        ):
            talk = Conversation(engine)
            talk.ask(opening)
            left, debut, birth = (talk.ask(one) for one in (GROUP, DEBUT, BIRTH))
            assert all(name in one.asked for one in (left, debut, birth))
            assert {one.status for one in (left, debut, birth)} == {"answered"}
            assert (left.short, birth.short, birth.method) == (year, years, "computed")
            assert f"{awards} Grammy" in debut.text
        # Alone each is about whoever it can only be about, or is asked back.
        for question in (GROUP, DEBUT, BIRTH):
            answer = engine.ask(question)
            assert answer.stop_reason == "ambiguous"
            assert {"Mara Velde", "Ines Corby"} <= set(
                re.findall(r"[A-Z]\w+ [A-Z]\w+", answer.text)
            )
            assert answer.asks_back
        only = [engine.ask(one, documents=["Ines Corby"]) for one in (GROUP, DEBUT, BIRTH)]
        assert [one.status for one in only] == ["answered"] * 3
        assert (only[0].short, only[2].short) == ("2011", "26 years")
        assert "one Grammy" in only[1].text


# A workflow as users of LangGraph know it.


def test_a_workflow_is_run_and_streamed_as_a_graph(singers: Path) -> None:
    model = FunctionModel(singing)
    with opened(singers, model, **{"runs.keep": 0}) as engine:
        rag = Graph(engine)
        result = rag.run("When did Ines Corby leave her group?")
        assert "2011" in result["generation"]
        assert any("2011" in one.page_content for one in result["documents"])
        assert (result["retry_count"], result["web_search"]) == (0, "No")
        assert (result["hallucination_check"], result["usefulness_check"]) == ("grounded", "useful")
        assert result["answer"].citations
        seen = [(node, state) for event in rag.stream(GROUP) for node, state in event.items()]
        nodes = [node for node, _ in seen]
        assert nodes == [step.node for step in seen[-1][1]["answer"].steps]
        after = dict(seen)
        assert not after["retrieve"]["relevance_scores"]
        assert "yes" in after["grade"]["relevance_scores"]
        assert len(after["grade"]["relevance_scores"]) == len(after["grade"]["documents"])
        told = [(state["generation"], state["hallucination_check"]) for _, state in seen]
        assert told[0] == ("", "")
        assert told[-1][0] == seen[-1][1]["answer"].text
        missing = list(rag.stream("What colour is the pier of Tolham?"))
        assert "rewrite" in [node for event in missing for node in event]
        assert missing[-1]["finish"]["answer"].status == "abstained"
