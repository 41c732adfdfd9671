"""Where to look for what is to be summarised."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.nodes.intent import summary_request

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from secondlook.context import Titled
    from secondlook.state import Scope


def summary_scope(
    question: str,
    scope: Scope,
    titles: Callable[[Scope], Sequence[Titled]],
    *,
    certain: bool = False,
) -> Scope | None:
    """The documents that are meant; None where nobody asks for a summary. `certain` is who chose
    the workflow by its name."""
    target = summary_request(question)
    if target is None and not certain:
        return None
    from secondlook.nodes.summarise_choose import fits

    held = titles(scope)
    if target == "":
        return {**scope, "documents": [document.id for document in held]}
    name = target or question
    named = [document.id for document in held if fits(name, document.title, document.paths)]
    if not named and not certain and question.lstrip().casefold().startswith("what"):
        # "what is the Domesday Book about" asks for a fact, if no document is called so
        return None
    return {**scope, "documents": named or scope["documents"]}
