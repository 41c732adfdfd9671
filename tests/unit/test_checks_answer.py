"""How an answer is written anew: after a complaint, after more was found, after a refusal."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from secondlook.nodes.answer import answer_anew
from secondlook.nodes.check import check_grounded
from tests.support.checking import DEEPEST, INVENTED, asked, blocks, found, visit
from tests.support.engine import context_of
from tests.support.function_model import FunctionModel

if TYPE_CHECKING:
    from secondlook.models.chat import ChatRequest
    from secondlook.nodes.context import Context


def inventing(request: ChatRequest) -> str:
    """Adds an invention, unless it is told not to say just that."""
    said = (
        f"{DEEPEST} [{next(number for number, text in blocks(request).items() if DEEPEST in text)}]"
    )
    told = re.search(r"^Not in the evidence:\n(.*?)\n\n", asked(request), re.MULTILINE | re.DOTALL)
    return said if told and INVENTED in told[1] else f"{said} {INVENTED} [1]"


def tokens(update: dict[str, Any]) -> str:
    return "".join(item.get("token", "") for item in update["emitted"])


def settled(context: Context) -> tuple[dict[str, Any], dict[str, Any]]:
    """Written, checked and written again, as the graph does."""
    passages = found(context)
    first = visit(answer_anew, context, found=passages)
    check = visit(check_grounded, context, draft=first["draft"], complaints=first["complaints"])
    kept = {name: check[name] for name in ("draft", "drafts", "complaints", "regenerations")}
    return check, visit(answer_anew, context, found=passages, **kept)


def test_who_listens_hears_that_the_words_so_far_no_longer_count() -> None:
    context = context_of(model=FunctionModel(inventing))
    first = visit(answer_anew, context, found=found(context))
    assert [item["redraft"] for item in first["emitted"] if "redraft" in item] == []
    _, second = settled(context_of(model=FunctionModel(inventing)))
    assert second["emitted"][0] == {"redraft": "the evidence does not carry all of it"}
    assert tokens(second).strip() == DEEPEST
