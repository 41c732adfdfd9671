"""Passages seen with what alterations need: their sentences, names, numbers, and their article."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from training.data.swaps import NameUse
from training.data.texts import holds, names, normalised, numbers, sentences, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from training.data.rows import Passage, Span
    from training.data.texts import Found


@dataclass(frozen=True)
class View:
    """One passage and its number."""

    number: int
    passage: Passage

    @property
    def text(self) -> str:
        return self.passage.text

    @cached_property
    def sentences(self) -> list[Span]:
        return sentences(self.text)

    @cached_property
    def names(self) -> list[Found]:
        return names(self.text)

    @cached_property
    def numbers(self) -> list[Found]:
        return numbers(self.text)

    @cached_property
    def normalised(self) -> str:
        return normalised(self.text)

    @cached_property
    def lower(self) -> str:
        return self.text.lower()

    def holds_any(self, answers: Iterable[str]) -> bool:
        return any(holds(self.normalised, self.lower, answer) for answer in answers)


@dataclass(frozen=True)
class Article:
    title: str
    views: Sequence[View]

    @cached_property
    def names(self) -> list[Found]:
        """Each name once, as it stands first."""
        unique = {name.text: name for view in reversed(self.views) for name in view.names}
        return sorted(unique.values(), key=lambda name: name.text)

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(word.text for view in self.views for word in words(view.text))


def articles_of(passages: Mapping[int, Passage]) -> dict[str, Article]:
    """The passages by title, with their numbers."""
    grouped: dict[str, list[View]] = {}
    for number, passage in passages.items():
        grouped.setdefault(passage.title, []).append(View(number, passage))
    return {title: Article(title, views) for title, views in grouped.items()}


def name_use(articles: Iterable[Article]) -> NameUse:
    use = NameUse()
    for article in articles:
        for view in article.views:
            use.learn(view.names)
    return use
