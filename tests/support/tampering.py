"""Ways to falsify an answer, each a copy of a true one with something changed. Every case names the
kinds of problem of which a verification must find at least one, so that it is caught for what it is
and not by accident."""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from secondlook.answer import Answer

Draft = dict[str, Any]
INVENTED = "The harbour was sold to a bank in Tolham for ninety thousand crowns in spring."


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    kinds: frozenset[str]
    answer: Answer


def cases(answer: Answer, other: Answer) -> Iterator[Case]:
    """Falsifications of `answer`, with pieces of `other`, which cites another document."""
    whole = answer.model_dump(mode="json")
    for name, kinds, change in _changes(answer, other.model_dump(mode="json")):
        draft = copy.deepcopy(whole)
        change(draft)
        if draft != whole:
            yield Case(name, frozenset(kinds.split()), Answer.model_validate(draft))


Change = tuple[str, str, "Callable[[Draft], None]"]


def _changes(answer: Answer, other: Draft) -> Iterator[Change]:
    for at in range(len(answer.citations)):
        for name, kinds, change in (*_cited(at, other), *_passages(at, other)):
            yield f"{name} of citation {at + 1}", kinds, change
    for at in range(len(answer.claims)):
        for name, kinds, change in _claims(at):
            yield f"{name} of claim {at + 1}", kinds, change
    yield from _wholes(other)


def _cited(at: int, other: Draft) -> Iterator[Change]:
    """Fields of a citation."""
    stranger = other["citations"][0]
    source = ("document", "sha256", "title", "path", "passage")

    def on(change: Callable[[Draft], Draft]) -> Callable[[Draft], None]:
        return lambda draft: draft["citations"][at].update(change(draft["citations"][at]))

    def fill(**values: Any) -> Callable[[Draft], None]:
        return on(lambda _: values)

    def of_another(*fields: str) -> Callable[[Draft], None]:
        return fill(**{name: stranger[name] for name in fields})

    def moved(first: int, last: int) -> Callable[[Draft], None]:
        return on(lambda one: {"start": max(0, one["start"] + first), "end": one["end"] + last})

    def digit(*fields: str) -> Callable[[Draft], None]:
        return on(lambda one: {name: _other_digit(one[name], 3) for name in fields})

    def quote(change: Callable[[str], str]) -> Callable[[Draft], None]:
        return on(lambda one: {"quote": change(one["quote"])})

    yield "digit of the hash", "document", digit("sha256")
    yield "hash of another", "document", of_another("sha256")
    yield "hash and document alike", "document passage", digit("sha256", "document")
    yield "document", "document", on(lambda one: {"document": one["document"][::-1]})
    yield "document of another", "document", of_another("document")
    for first, last in ((1, 0), (0, -1), (7, 7), (-9, -9)):
        yield f"span {first:+}/{last:+}", "quote passage", moved(first, last)
    yield "span to nowhere", "quote passage", fill(start=10**9, end=10**9 + 5)
    yield "empty span", "quote", on(lambda one: {"end": one["start"], "quote": ""})
    yield "turned span", "quote", on(lambda one: {"start": one["end"], "end": one["start"]})
    cut = on(lambda one: {"quote": one["quote"][:-3], "end": one["end"] - 2})
    yield "quote cut with its span", "quote", cut
    yield "one sign", "quote", quote(_one_sign)
    yield "sign added", "quote", quote(lambda text: f"{text}!")
    yield "look-alike sign", "quote", quote(lambda text: text.replace("e", "\u0435", 1))
    yield "number", "quote", quote(_other_number)
    yield "invented quote", "quote", fill(quote=INVENTED)
    yield "quote of another", "quote", of_another("quote")
    yield "quote and place of another", "quote passage", of_another("quote", "start", "end")
    yield "stitched from two", "quote", quote(lambda text: _stitched(text, stranger["quote"]))
    yield "page", "page web", on(lambda one: {"page": (one["page"] or 0) + 1})
    yield "no page", "page", fill(page=None)
    yield "title", "title passage", fill(title="Another title")
    yield "address", "web passage", fill(url="https://example.com/elsewhere")
    yield "all of another but quote and place", "quote passage", of_another(*source)
    origin = on(lambda one: {"origin": "library" if one["origin"] == "web" else "web"})
    yield "origin", "web document passage", origin


def _passages(at: int, other: Draft) -> Iterator[Change]:
    """The passage that a citation names, and how it is listed."""

    def named(passage: str) -> Callable[[Draft], None]:
        return lambda draft: draft["citations"][at].update(passage=passage)

    yield "passage of nowhere", "passage web", named("nowhere.0")
    yield "passage of another", "passage web", named(other["citations"][0]["passage"])

    def neighbour(draft: Draft) -> None:
        """Passages overlap: one that holds the quote as well would be as true."""
        own = draft["citations"][at]
        listed = [one["id"] for one in draft["passages"] if not _holds(one, own)]
        own["passage"] = listed[0] if listed else "none.1"

    yield "passage that was seen too", "passage web", neighbour

    def renamed(draft: Draft) -> None:
        own = draft["citations"][at]
        if own["origin"] == "web":
            return  # of a page that was read once nobody can say how it was cut
        was, own["passage"] = own["passage"], own["passage"].rpartition(".")[0] + ".999"
        for one in draft["passages"]:
            one["id"] = own["passage"] if one["id"] == was else one["id"]

    yield "passage renamed throughout", "passage", renamed

    def listed(**values: Any) -> Callable[[Draft], None]:
        def apply(draft: Draft) -> None:
            wanted = draft["citations"][at]["passage"]
            for one in draft["passages"]:
                one.update(values if one["id"] == wanted else {})

        return apply

    def dropped(draft: Draft) -> None:
        wanted = draft["citations"][at]["passage"]
        draft["passages"] = [one for one in draft["passages"] if one["id"] != wanted]

    yield "passage not listed", "passage web", dropped
    yield "passage listed elsewhere", "passage quote", listed(start=0, end=1)
    yield "passage not kept", "passage", listed(kept=False)


def _claims(at: int) -> Iterator[Change]:
    def edit(change: Callable[[str], str], *, text_too: bool) -> Callable[[Draft], None]:
        def apply(draft: Draft) -> None:
            claim = draft["claims"][at]
            was, claim["text"] = claim["text"], change(claim["text"])
            if text_too and claim["text"] != was:
                draft["text"] = " ".join(draft["text"].split()).replace(was, claim["text"], 1)

        return apply

    yield "number", "text", edit(_other_number, text_too=False)
    yield "number, in the text too", "number", edit(_other_number, text_too=True)
    yield "invented claim", "text", edit(lambda _: INVENTED, text_too=False)
    yield "invented claim, in the text too", "support", edit(lambda _: INVENTED, text_too=True)
    name = edit(lambda text: f"Only Zebulon Quarles said this: {text}", text_too=True)
    yield "invented name, in the text too", "support text", name

    def cites(*numbers: int) -> Callable[[Draft], None]:
        return lambda draft: draft["claims"][at].update(citations=list(numbers))

    yield "no citation", "numbering", cites()
    yield "unknown citation", "numbering", cites(99)
    yield "support beyond 1", "claim", lambda draft: draft["claims"][at].update(support=7.5)

    def more(draft: Draft) -> None:
        draft["claims"][at]["citations"].append(len(draft["citations"]) + 1)

    def twice(draft: Draft) -> None:
        draft["claims"][at]["citations"] *= 2

    yield "one citation more", "numbering", more
    yield "a citation twice", "numbering", twice


def _wholes(other: Draft) -> Iterator[Change]:
    def fill(**values: Any) -> Callable[[Draft], None]:
        return lambda draft: draft.update(values)

    yield "abstained", "status", fill(status="abstained", stop_reason="no_evidence")
    yield "refused", "status", fill(status="refused")
    yield "no claims", "status", fill(claims=[])
    yield "no citations", "numbering", fill(citations=[])
    yield "short form", "text", fill(short="eleven hundred barrels")
    yield "empty text", "text", fill(text="")
    yield "text of another", "text", fill(text=other["text"])

    def first_dropped(draft: Draft) -> None:
        draft["citations"] = draft["citations"][1:]

    def padded(draft: Draft) -> None:
        draft["citations"].append({**draft["citations"][0], "number": len(draft["citations"]) + 1})

    def renumbered(draft: Draft) -> None:
        draft["citations"][-1]["number"] += 5

    def loose_mark(draft: Draft) -> None:
        draft["text"] += " [77]"

    def grounded(draft: Draft) -> None:
        draft["grounded"]["value"] = "yes"
        draft["claims"][0]["supported"] = None

    yield "first citation dropped", "numbering", first_dropped
    yield "a citation too many", "numbering", padded
    yield "a number skipped", "numbering", renumbered
    yield "a mark of nothing", "text", loose_mark
    yield "said to be grounded", "status", grounded


def _holds(passage: Draft, citation: Draft) -> bool:
    same = bool(passage["document"] == citation["document"])
    return same and passage["start"] <= citation["start"] <= citation["end"] <= passage["end"]


def _other_digit(digits: str, at: int) -> str:
    changed = "0" if digits[at] != "0" else "f"
    return digits[:at] + changed + digits[at + 1 :]


def _one_sign(text: str) -> str:
    at = len(text) // 2
    return text[:at] + ("x" if text[at] != "x" else "y") + text[at + 1 :]


def _other_number(text: str) -> str:
    """The first digit becomes a number that no sample document holds."""
    at = next((at for at, sign in enumerate(text) if sign.isdigit()), None)
    return text if at is None else f"{text[:at]}7713{text[at + 1 :]}"


def _stitched(one: str, other: str) -> str:
    half = len(one) // 2
    return one[:half] + other[: len(one) - half]
