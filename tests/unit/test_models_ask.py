"""The one door: counted, paid, retried, corrected, journaled, and typed in failure."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel, Field

from secondlook.errors import (
    BudgetExceeded,
    ContextOverflow,
    ModelError,
    ModelTimeout,
    ModelUnavailable,
    SecondlookError,
    UnusableReply,
)
from secondlook.memory.journal import JournalEntry, MemoryJournal
from secondlook.memory.ledger import Caps, Ledger, SetAside
from secondlook.models import ChatRequest, ChatResult, Message, ModelBusy, Models, ModeRefused
from secondlook.models import bounded as bounded_module
from secondlook.settings import ModelSettings, Settings
from tests.support.function_model import FunctionModel, asker_of, models_of, probe_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from secondlook.answer import CallUsage
    from secondlook.models import Asker, Reply


class Grade(BaseModel):
    """How well a passage answers."""

    relevant: bool
    reason: str = Field(description="Why, in a few words.")


GOOD = '{"relevant": true, "reason": "it names the depth"}'
ASKED = (Message("system", "You grade."), Message("user", "How deep is the quay?"))


def ask(asker: Asker, schema: Any = None, **options: Any) -> Reply[Any]:
    return asyncio.run(asker.ask("grade", ASKED, schema, **{"node": "grade", **options}))


def replies(*said: Any) -> Callable[[ChatRequest], Any]:
    """Says one after the other; the last one for ever. Exceptions are raised."""
    left = list(said)

    def function(request: ChatRequest) -> Any:
        now = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(now, BaseException):
            raise now
        return now

    return function


def spent(asker: Asker) -> CallUsage:
    (usage,) = asker.ledger.usage().by_node
    return usage


# Replies


def test_text_comes_back_with_what_it_took() -> None:
    model = FunctionModel(lambda request: f"You asked: {request.messages[-1].content}")
    asker = asker_of(model)
    heard: list[str] = []
    reply = ask(asker, on_text=heard.append)
    assert reply.text == "".join(heard) == "You asked: How deep is the quay?"
    assert (reply.value, reply.finish) == (None, "stop")
    assert reply.usage == spent(asker)
    assert reply.usage.model == "ollama:function"
    assert (reply.usage.calls, reply.usage.cost, reply.usage.parse_failures) == (1, 0.0, 0)
    assert reply.usage.tokens_in > 8
    assert reply.usage.tokens_out > 3
    assert model.requests[0].mode == "text"


def test_an_object_is_asked_for_natively_first() -> None:
    model = FunctionModel(lambda request: GOOD)
    reply = ask(asker_of(model), Grade)
    assert reply.value == Grade(relevant=True, reason="it names the depth")
    assert json.loads(reply.text)["relevant"] is True
    (request,) = model.requests
    assert request.mode == "json_schema"
    assert request.schema is not None
    assert set(request.schema["properties"]) == {"relevant", "reason"}
    assert request.messages == ASKED  # the server knows the schema; it costs no tokens


def test_nobody_hears_json() -> None:
    heard: list[str] = []
    ask(asker_of(FunctionModel(lambda request: GOOD)), Grade, on_text=heard.append)
    assert heard == []


def test_modes_that_a_server_refuses_are_not_tried_again() -> None:
    def function(request: ChatRequest) -> str:
        if request.mode != "prompted":
            raise ModeRefused(f"no {request.mode}")
        assert '"relevant"' in request.messages[0].content  # the schema, in words
        assert request.messages[0].content.startswith("You grade.")
        return f"Sure!\n```json\n{GOOD}\n```"

    model = FunctionModel(function)
    models = models_of(model)
    for run in ("a", "b"):
        asker = models.asker(
            run=run, workflow="linear", ledger=Ledger(Caps()), journal=MemoryJournal()
        )
        assert ask(asker, Grade).value.relevant
        assert spent(asker).calls == 1  # what was refused at the door is not owed
    assert [request.mode for request in model.requests] == [
        "json_schema",
        "tool",
        "prompted",
        "prompted",
    ]


def test_a_schema_without_a_system_message_gets_one() -> None:
    model = FunctionModel(lambda request: GOOD)
    asker = asker_of(model, options=("grade.mode=prompted",))
    asyncio.run(asker.ask("grade", [Message("user", "Grade it.")], Grade, node="n"))
    first, second = model.requests[0].messages
    assert (first.role, second.content) == ("system", "Grade it.")
    assert "not the schema itself" in first.content


def test_a_schema_that_a_backend_cannot_hold_to_goes_down_the_ladder() -> None:
    def function(request: ChatRequest) -> str:
        if request.mode == "json_schema":
            raise UnusableReply("cannot be held to this schema")
        return GOOD

    model = FunctionModel(function)
    asker = asker_of(model)
    assert ask(asker, Grade).value.relevant
    assert [request.mode for request in model.requests] == ["json_schema", "tool"]
    assert ask(asker, Grade, node="other").value.relevant  # of another schema it may be able
    assert model.requests[2].mode == "json_schema"


def test_a_wrong_reply_is_corrected_once() -> None:
    def function(request: ChatRequest) -> str:
        said = request.messages[-1].content
        if "could not be used" not in said:
            return '{"relevant": "perhaps", "reason": 3}'
        assert "relevant: " in said
        assert '"properties"' in said
        assert request.messages[-2] == Message("assistant", '{"relevant": "perhaps", "reason": 3}')
        return GOOD

    model = FunctionModel(function)
    asker = asker_of(model)
    reply = ask(asker, Grade)
    assert reply.value.relevant
    assert reply.usage == spent(asker)
    assert (reply.usage.calls, reply.usage.parse_failures) == (2, 1)
    assert [request.mode for request in model.requests] == ["json_schema", "json_schema"]


def test_a_server_that_ignores_the_mode_is_told_in_words() -> None:
    def function(request: ChatRequest) -> str:
        return GOOD if request.mode == "prompted" else "The passage is relevant."

    model = FunctionModel(function)
    assert ask(asker_of(model), Grade).value.relevant
    assert [request.mode for request in model.requests] == ["json_schema", "prompted"]


def test_a_reply_that_was_cut_off_is_asked_for_shorter() -> None:
    def function(request: ChatRequest) -> str:
        if "Keep it short" in request.messages[-1].content:
            return GOOD
        return '{"relevant": true, "reason": "' + "very " * 100

    assert ask(asker_of(FunctionModel(function)), Grade, max_tokens=64).value.relevant


@pytest.mark.parametrize(
    "said",
    [
        "",
        "   \n",
        "I would rather not.",
        '{"relevant": "so-so"}',
        json.dumps(Grade.model_json_schema()),
        '{"relevant": true, "reason": "Why, in a few words."}',
        "word " * 10_000,
        "{" * 50_000,
        "\x00\ud800" * 100,
    ],
)
def test_what_stays_wrong_is_unusable(said: str) -> None:
    asker = asker_of(FunctionModel(lambda request: said, obedient=False))
    with pytest.raises(UnusableReply) as caught:
        ask(asker, Grade)
    assert "grade a reply that cannot be used" in caught.value.message
    assert (spent(asker).calls, spent(asker).parse_failures) == (2, 2)


def test_an_empty_text_is_unusable_too() -> None:
    asker = asker_of(FunctionModel(replies("", "Seven metres.")))
    assert ask(asker).text == "Seven metres."
    assert spent(asker).parse_failures == 1
    with pytest.raises(UnusableReply, match="it is empty"):
        ask(asker_of(FunctionModel(lambda request: "<think>hm</think>")))


def test_thoughts_are_no_part_of_a_reply() -> None:
    heard: list[str] = []
    asker = asker_of(FunctionModel(lambda request: "<think>Let me see. So</think>\n\nSeven."))
    assert ask(asker, on_text=heard.append).text == "Seven."
    assert "".join(heard) == "Seven."
    model = FunctionModel(lambda request: f"<think>{GOOD[:20]}</think> {GOOD}")
    assert ask(asker_of(model), Grade).value.relevant


@pytest.mark.parametrize(
    ("said", "heard_text", "text"),
    [
        ("<", "<", "<"),
        ("< 5 metres", "< 5 metres", "< 5 metres"),
        ("plan</think> Five.", "plan</think> Five.", "Five."),
        (" \n Five.", " \n Five.", " \n Five."),
    ],
)
def test_what_only_begins_like_thoughts_is_text(said: str, heard_text: str, text: str) -> None:
    heard: list[str] = []
    model = FunctionModel(lambda request: iter(said))
    assert ask(asker_of(model), on_text=heard.append).text == text
    assert "".join(heard) == heard_text


# Bounds


def test_a_stream_without_end_is_cut() -> None:
    closed = []

    def endless() -> Any:
        try:
            yield from itertools.repeat("and so on ")
        finally:
            closed.append(True)

    asker = asker_of(FunctionModel(lambda request: endless(), obedient=False))
    heard: list[str] = []
    reply = ask(asker, max_tokens=16, on_text=heard.append)
    assert reply.finish == "length"
    assert len(reply.text) == len("".join(heard)) < 3000
    assert spent(asker).tokens_out > 100
    assert closed  # the backend was stopped, not left running


def test_a_reply_of_any_length_is_cut() -> None:
    model = FunctionModel(lambda request: ChatResult("x" * 50_000, "stop", 10, 12_500))
    reply = ask(asker_of(model), max_tokens=100)
    assert (len(reply.text), reply.finish) == (3600, "length")


def test_a_prompt_that_does_not_fit_is_refused_before_anything_is_sent() -> None:
    model = FunctionModel(lambda request: "never", context=200)
    asker = asker_of(model)
    with pytest.raises(ContextOverflow) as caught:
        ask(asker, max_tokens=190)
    tokens = asyncio.run(asker.count("grade", ASKED))
    assert f"a prompt of {tokens} tokens and a reply of 190 do not fit" in caught.value.message
    assert "the 200 tokens" in caught.value.message
    assert model.requests == []
    assert asker.ledger.usage().calls == 0
    ask(asker, max_tokens=200 - tokens)


def test_room_is_what_a_prompt_may_have() -> None:
    async def rooms() -> list[int | None]:
        asker = asker_of(FunctionModel(replies("x"), context=1000))
        words = asker_of(
            FunctionModel(replies("x"), context=1000), options=("grade.mode=prompted",)
        )
        return [
            await asker.room("grade", max_tokens=100),
            await asker.room("grade", max_tokens=100, schema=Grade),
            await words.room("grade", max_tokens=100, schema=Grade),
            await asker.room("grade", max_tokens=5000),
            await asker_of(FunctionModel(replies("x"), context=None)).room("grade", max_tokens=1),
            await asker_of(FunctionModel(replies("x")), context_tokens=300).room(
                "grade", max_tokens=100
            ),
        ]

    plain, native, in_words, none, unknown, told = asyncio.run(rooms())
    assert (plain, native, none, unknown, told) == (884, 884, 0, None, 184)
    assert in_words is not None
    assert 600 < in_words < 800


def test_a_prompt_packed_to_the_room_fits() -> None:
    async def packed() -> Reply[Any]:
        model = FunctionModel(lambda request: GOOD, context=2000)
        asker = asker_of(model, options=("grade.mode=prompted",))
        room = await asker.room("grade", max_tokens=100, schema=Grade)
        assert room is not None
        text = ""
        while await asker.count("grade", [Message("system", "Grade."), Message("user", text)]) < (
            room - 1
        ):
            text += "a "
        messages = [Message("system", "Grade."), Message("user", text)]
        return await asker.ask("grade", messages, Grade, node="n", max_tokens=100)

    assert asyncio.run(packed()).value.relevant


def test_nothing_is_asked_over_budget() -> None:
    model = FunctionModel(lambda request: "yes")
    asker = asker_of(model, caps=Caps(calls=1))
    ask(asker)
    with pytest.raises(BudgetExceeded) as caught:
        ask(asker, node="again")
    assert caught.value.reason == "budget"
    assert len(model.requests) == 1


def test_a_final_call_may_use_what_is_set_aside() -> None:
    ledger = Ledger(Caps(calls=2), set_aside=SetAside(100, 100))
    asker = asker_of(FunctionModel(lambda request: "yes"), ledger=ledger)
    ask(asker)
    with pytest.raises(BudgetExceeded):
        ask(asker, node="more")
    assert ask(asker, node="answer", final=True).text == "yes"


def test_without_budget_for_a_correction_the_reply_is_unusable() -> None:
    asker = asker_of(FunctionModel(lambda request: "no object"), caps=Caps(calls=1))
    with pytest.raises(UnusableReply, match="no complete JSON object"):
        ask(asker, Grade)


def test_without_room_for_a_correction_the_reply_is_unusable() -> None:
    asker = asker_of(FunctionModel(lambda request: "no object", context=60))
    with pytest.raises(UnusableReply, match="no complete JSON object"):
        ask(asker, Grade, max_tokens=16)
    assert spent(asker).calls == 1


def test_an_unknown_price_is_not_zero() -> None:
    model = FunctionModel(lambda request: "yes", spec="openai:never-heard-of-it")
    assert ask(asker_of(model)).usage.cost is None
    with pytest.raises(BudgetExceeded, match="the price of 'openai:never-heard-of-it' is unknown"):
        ask(asker_of(model, caps=Caps(money=1.0)))


def test_a_known_price_is_counted_with_every_try() -> None:
    model = FunctionModel(
        replies(
            ChatResult("no", "stop", 1_000_000, 0, tokens_cached=500_000),
            ChatResult(GOOD, "stop", 1_000_000, 1_000_000),
        ),
        spec="openai:gpt-4o-mini",
    )
    reply = ask(asker_of(model), Grade)
    assert reply.usage.cost == pytest.approx(0.075 + 0.0375 + 0.15 + 0.60)
    assert reply.usage.tokens_cached == 500_000


# Failures


def test_a_model_that_was_away_is_asked_again() -> None:
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    model = FunctionModel(
        replies(ModelUnavailable("away"), ModelBusy("busy", wait=3.5), "back again")
    )
    asker = asker_of(model)
    asker.models.pause = pause
    assert ask(asker).text == "back again"
    assert pauses == [0.5, 3.5]
    assert (spent(asker).calls, spent(asker).retries) == (3, 2)


def test_retries_end() -> None:
    model = FunctionModel(replies(ModelUnavailable("away for good")))
    with pytest.raises(ModelUnavailable, match="away for good"):
        ask(asker_of(model, retries=1))
    assert len(model.requests) == 2


def test_a_model_that_wants_minutes_is_not_waited_for() -> None:
    model = FunctionModel(replies(ModelBusy("come back in an hour", wait=3600), "here"))
    with pytest.raises(ModelBusy):
        ask(asker_of(model))
    assert len(model.requests) == 1


def test_what_another_try_cannot_mend_is_not_tried_again() -> None:
    class Missing(ModelUnavailable):
        retryable = False

    for error in (Missing("no such file"), ModelError("wrong key")):
        model = FunctionModel(replies(error, "here"))
        with pytest.raises(type(error)):
            ask(asker_of(model))
        assert len(model.requests) == 1


def test_no_retry_beyond_the_budget_or_the_deadline() -> None:
    model = FunctionModel(replies(ModelUnavailable("away"), "here"))
    with pytest.raises(ModelUnavailable, match="away"):
        ask(asker_of(model, caps=Caps(calls=1)))
    ledger = Ledger(Caps(seconds=0.4), clock=lambda: 0.0)
    with pytest.raises(ModelUnavailable, match="away"):
        ask(asker_of(FunctionModel(replies(ModelUnavailable("away"), "x")), ledger=ledger))


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("boom"),
        ValueError(),
        KeyError("choices"),
        OSError("reset"),
        MemoryError(),
        RecursionError(),
        asyncio.CancelledError(),
        json.JSONDecodeError("x", "y", 0),
    ],
)
def test_whatever_a_backend_raises_becomes_a_model_error(error: BaseException) -> None:
    asker = asker_of(FunctionModel(replies(error)))
    with pytest.raises(ModelError):
        ask(asker)
    assert spent(asker).calls == 1


def test_a_count_that_fails_is_a_model_error_too() -> None:
    class Broken(FunctionModel):
        async def count(self, messages: Any) -> int:
            raise LookupError("no tokenizer")

    with pytest.raises(ModelError, match="LookupError: no tokenizer"):
        ask(asker_of(Broken(replies("x"))))


def test_a_count_that_fails_for_once_is_repeated() -> None:
    class Starting(FunctionModel):
        started = False

        async def count(self, messages: Any) -> int:
            if not self.started:
                self.started = True
                raise ModelUnavailable("starting")
            return await super().count(messages)

    assert ask(asker_of(Starting(replies("x")))).text == "x"


async def forever(request: ChatRequest) -> str:
    await asyncio.Event().wait()
    return "never"


@pytest.fixture
def no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_module, "_GRACE_SECONDS", 0.01)


@pytest.mark.usefixtures("no_grace")
def test_a_model_that_never_answers_is_given_up() -> None:
    asker = asker_of(FunctionModel(forever), timeout=0.02, retries=1)
    with pytest.raises(ModelTimeout, match=re.escape("did not answer within 0.02 s")):
        ask(asker)
    assert (spent(asker).calls, spent(asker).retries) == (2, 1)
    assert spent(asker).tokens_in > 0  # it may have been read, and billed


@pytest.mark.usefixtures("no_grace")
def test_a_count_that_never_ends_is_given_up() -> None:
    class Stuck(FunctionModel):
        async def count(self, messages: Any) -> int:
            await asyncio.Event().wait()
            return 0

    with pytest.raises(ModelTimeout, match="was not ready within"):
        ask(asker_of(Stuck(replies("x")), timeout=0.02, retries=0))


@pytest.mark.usefixtures("no_grace")
def test_the_end_of_the_run_is_called_by_its_name() -> None:
    asker = asker_of(FunctionModel(forever), caps=Caps(seconds=0.05))
    with pytest.raises(BudgetExceeded) as caught:
        ask(asker)
    assert caught.value.reason == "deadline"
    assert asker.ledger.usage().calls == 1


@pytest.mark.usefixtures("no_grace")
def test_one_that_refuses_to_stop_is_left_behind() -> None:
    async def stubborn(request: ChatRequest) -> str:
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                if stop:
                    raise

    stop: list[bool] = []

    async def main() -> None:
        asker = asker_of(FunctionModel(stubborn), timeout=0.02, retries=0)
        with pytest.raises(ModelTimeout):
            await asker.ask("grade", ASKED, node="n")
        stop.append(True)

    asyncio.run(main())


def test_stopping_the_run_stops_the_model() -> None:
    stopped: list[bool] = []
    begun = asyncio.Event()

    async def working(request: ChatRequest) -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(True)
        return "never"

    async def main() -> Asker:
        asker = asker_of(FunctionModel(working))
        asking = asyncio.ensure_future(asker.ask("grade", ASKED, node="n"))
        await begun.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        return asker

    asker = asyncio.run(main())
    assert stopped == [True]
    assert spent(asker).calls == 1
    assert spent(asker).tokens_in > 0


def test_nobody_hears_a_reply_twice() -> None:
    def function(request: ChatRequest) -> Any:
        if len(model.requests) == 1:
            return broken()
        return "The quay is seven metres deep."

    def broken() -> Any:
        yield "The quay is "
        raise ModelUnavailable("the line broke")

    model = FunctionModel(function)
    heard: list[str] = []
    reply = ask(asker_of(model), on_text=heard.append)
    assert reply.text == "The quay is seven metres deep."
    assert heard == ["The quay is "]
    assert reply.usage.tokens_in > 30  # both tries were read


# Roles, options, journal


def test_no_model_serves_none() -> None:
    asker = asker_of(FunctionModel(replies("x")), default="none", roles=("answer=ollama:x",))
    assert not asker.serves("grade")
    assert (asker.serves("answer"), asker.name("answer")) == (True, "ollama:x")
    assert asker.name("grade") == "none"
    assert not asker.local("grade")
    with pytest.raises(ModelError, match="no model serves the role 'grade'"):
        ask(asker)


def test_options_of_a_role_reach_the_model() -> None:
    model = FunctionModel(replies("x"))
    options = ("grade.temperature=0.3", "grade.max_tokens=7", "grade.seed=5", "grade.timeout=9")
    ask(asker_of(model, options=options), max_tokens=100, stop=("\n",))
    (request,) = model.requests
    assert (request.temperature, request.max_tokens, request.seed) == (0.3, 7, 5)
    assert (request.timeout, request.stop) == (9.0, ("\n",))


def test_the_time_left_bounds_each_call() -> None:
    model = FunctionModel(replies("x"))
    ask(asker_of(model, ledger=Ledger(Caps(seconds=30), clock=lambda: 0.0)))
    assert model.requests[0].timeout == 30
    ask(asker_of(model))
    assert model.requests[1].timeout == ModelSettings().timeout


@pytest.mark.parametrize("schema", [None, Grade])
def test_a_call_of_the_same_run_is_paid_once(schema: Any) -> None:
    model = FunctionModel(lambda request: GOOD)
    journal = MemoryJournal()
    first = ask(asker_of(model, journal=journal), schema)
    resumed = asker_of(model, journal=journal)
    assert ask(resumed, schema) == first
    assert len(model.requests) == 1
    assert resumed.ledger.usage().calls == 0
    ask(resumed, schema, node="another")
    ask(resumed, schema, max_tokens=100)
    assert len(model.requests) == 3


def test_what_a_journal_holds_in_another_form_is_asked_anew() -> None:
    class Old:
        def get(self, key: str) -> JournalEntry | None:
            return JournalEntry("[1]", "stop", "grade", "grade", "m", 1, 1)

        def put(self, key: str, entry: JournalEntry) -> None:
            self.stored = entry

    journal = Old()
    assert ask(asker_of(FunctionModel(lambda request: GOOD), journal=journal), Grade).value.relevant
    assert journal.stored.node == "grade"


def test_a_failed_call_is_not_journaled() -> None:
    journal = MemoryJournal()
    with pytest.raises(SecondlookError):
        ask(asker_of(FunctionModel(replies(ModelError("x"))), journal=journal))
    assert ask(asker_of(FunctionModel(replies("y")), journal=journal)).text == "y"


def test_models_are_opened_once_and_closed_together() -> None:
    opened: list[FunctionModel] = []

    def open_chat(spec: Any) -> FunctionModel:
        opened.append(FunctionModel(replies("x"), spec=spec.text))
        return opened[-1]

    settings = Settings(models=ModelSettings(default="ollama:a", roles=("plan=ollama:b",)))
    models = Models(settings, open_chat=open_chat, probes=lambda spec: None)
    assert opened == []
    asker = models.asker(run="r", workflow="linear", ledger=Ledger(Caps()), journal=MemoryJournal())

    async def main() -> None:
        await asker.ask("answer", ASKED, node="n")
        await asker.ask("grade", ASKED, node="n")
        await asker.ask("plan", ASKED, node="n")
        await models.aclose()
        await models.aclose()

    asyncio.run(main())
    assert [chat.spec for chat in opened] == ["ollama:a", "ollama:b"]
    assert all(chat.closed for chat in opened)


def test_what_was_probed_is_used() -> None:
    model = FunctionModel(lambda request: GOOD)

    def models(**options: Any) -> Models:
        return Models(
            Settings(models=ModelSettings(default="ollama:function", **options)),
            open_chat=lambda spec: model,
            probes=lambda spec: probe_of(spec.text),
        )

    async def contexts() -> list[int | None]:
        told = models(context_tokens=4096)
        option = models(options=("grade.context_tokens=500",))
        return [
            await which.context_tokens(which.cast.part("grade"))
            for which in (models(), told, option)
        ]

    assert asyncio.run(contexts()) == [1000, 4096, 500]
    asker = models().asker(
        run="r", workflow="linear", ledger=Ledger(Caps()), journal=MemoryJournal()
    )
    assert ask(asker, Grade).value.relevant
    assert model.requests[0].mode == "prompted"
    assert models(options=("grade.mode=tool",)).modes(
        models(options=("grade.mode=tool",)).cast.part("grade")
    ) == ("tool", "prompted")
