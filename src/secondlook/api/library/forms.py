"""What a client is told of a library and what it holds."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from secondlook.answer import Scalar  # noqa: TC001  # pydantic reads it
from secondlook.api.library.job_forms import Job  # noqa: TC001
from secondlook.api.whole_number import OrWithPoint
from secondlook.tables.table import ColumnType  # noqa: TC001

_DOCUMENT_ID = "9f86d081884c7d65"


class LibraryForm(BaseModel):
    name: str = Field(examples=["default"])
    path: str | None = Field(
        description="The last part of the place where it lies.", examples=["library"]
    )
    documents: int
    tables: int
    passages: int
    failed: int = Field(description="Files that could not be read.")
    bytes: int
    writing: bool = Field(description="Whether something is being added right now.")


class TableOfDocument(BaseModel):
    id: str
    name: str = Field(examples=["sales"])
    rows: int
    columns: int


class Document(BaseModel):
    """A document, or a file that could not be read (`status` is `failed`)."""

    id: str = Field(examples=[_DOCUMENT_ID])
    title: str = Field(examples=["Harbour survey 2024"])
    name: str = Field(description="Of its file.", examples=["survey.pdf"])
    kind: str = Field(examples=["pdf"])
    pages: int = 0
    passages: int = 0
    characters: int = 0
    language: str | None = None
    author: str | None = None
    date: str | None = None
    added: str | None = Field(default=None, description="ISO 8601 in UTC.")
    status: Literal["ready", "failed"] = "ready"
    reason: str | None = Field(default=None, description="Why it failed.")
    notes: list[str] = Field(
        default_factory=list, description="What a reader should know: pages without text, ..."
    )
    metadata: dict[str, str] = Field(default_factory=dict)
    tables: list[TableOfDocument] = Field(default_factory=list)
    has_original: bool = Field(default=False, description="Whether its file is there to open.")
    uploaded: bool = Field(default=False, description="Whether the library keeps its file itself.")


class HeadingForm(BaseModel):
    level: int
    text: str
    start: int
    page: int | None = None


class WholeDocument(Document):
    headings: list[HeadingForm] = Field(default_factory=list)


class Documents(BaseModel):
    documents: list[Document]
    total: int = Field(description="How many fit, of which these are some.")
    jobs: list[Job] = Field(description="What is being taken in right now.")


class Paths(BaseModel, extra="forbid", strict=True):
    paths: list[str] = Field(min_length=1, max_length=100, examples=[["/srv/papers"]])


class TextOfDocument(BaseModel):
    """A part of a document's text. A citation's quote is `text[c.start - start : c.end - start]`,
    where offsets count Unicode code points."""

    document: str = Field(examples=[_DOCUMENT_ID])
    title: str
    page: int | None = Field(description="The page on which it begins; null without pages.")
    pages: int
    start: int
    end: int
    characters: int = Field(description="Of the whole document.")
    text: str
    heading: str | None = Field(
        examples=["Findings \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} Berth 4"]
    )
    previous_page: int | None
    next_page: int | None
    previous_start: int | None = Field(description="Where the part before this one may begin.")
    next_start: int | None


class PassageForm(BaseModel):
    id: str = Field(examples=[f"{_DOCUMENT_ID}.4"])
    document: str = Field(examples=[_DOCUMENT_ID])
    title: str
    page: int | None
    start: int
    end: int
    text: str
    heading: str | None


class TableForm(BaseModel):
    id: str
    name: str = Field(examples=["sales"])
    title: str = Field(examples=["sales.xlsx, Q1"])
    rows: int
    columns: int
    document: str | None = Field(examples=[_DOCUMENT_ID])


class ColumnForm(BaseModel):
    name: str = Field(examples=["price"])
    type: ColumnType
    missing: int
    distinct: int
    about: str = Field(
        description="Its range or its most frequent values.", examples=["1.5 to 99, mean 20.1"]
    )
    unit: str | None = None
    warnings: list[str] = Field(default_factory=list)


class TablePreview(BaseModel):
    id: str
    name: str
    title: str
    document: str | None
    total_rows: int
    columns: list[ColumnForm]
    rows: list[list[Scalar]] = Field(description="The first ones, in the order of the columns.")
    warnings: list[str]


class Search(BaseModel, extra="forbid", strict=True):
    query: str = Field(min_length=1, max_length=4000, examples=["how deep is berth 4"])
    k: Annotated[int, Field(ge=1, le=100), OrWithPoint] | None = Field(
        default=None, description="How many passages."
    )
    documents: list[str] | None = Field(
        default=None, max_length=1000, description="Only in these: ids, file names or titles."
    )
    filters: dict[str, str] | None = Field(
        default=None, description="Only in documents with such metadata."
    )


class HitForm(BaseModel):
    passage: str
    document: str
    title: str
    page: int | None
    start: int
    end: int
    score: float
    text: str
    heading: str | None


class Hits(BaseModel):
    hits: list[HitForm]


class Suggestion(BaseModel):
    question: str = Field(examples=["What is the mean price by region?"])
    why: str = Field(description="What it is made from.", examples=["a column of sales.csv"])


class Suggestions(BaseModel):
    questions: list[Suggestion]
    ready: bool = Field(description="Whether they have been made; ask again where not.")
