"""The library: a person's documents, made searchable and kept in step with their files."""

from __future__ import annotations

import tempfile
import threading
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from secondlook.errors import (
    LibraryDamaged,
    LibraryError,
    LibraryFormat,
    LibraryMissing,
    SecondlookError,
    UsageError,
)
from secondlook.library import backup, integrity, report
from secondlook.library import manifest as manifests
from secondlook.library import publish as published
from secondlook.library import stores as opening
from secondlook.library.about import about
from secondlook.library.backup import MOST_BYTES
from secondlook.library.catalog import check_metadata, label
from secondlook.library.commit import Change, Stores, commit, recover
from secondlook.library.manifest import active_holder, writing
from secondlook.library.report import DocumentInfo, FailedFile, FileChange, Progress, Status
from secondlook.library.uploads import delete_originals
from secondlook.passage import Hit, Passage
from secondlook.processes import Closing
from secondlook.retrieval.index.lance import disk_bytes
from secondlook.retrieval.index.port import EVERYTHING, Filter

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from langchain_core.retrievers import BaseRetriever

    from secondlook.document import Extracted
    from secondlook.library.catalog import FileRow
    from secondlook.library.ingest import Intake
    from secondlook.library.integrity import Damage
    from secondlook.library.manifest import Manifest
    from secondlook.library.report import AddReport, Text
    from secondlook.reading.port import Choose, Embedder, Reader, Reading
    from secondlook.retrieval.index.port import Index
    from secondlook.retrieval.search import Ranked, Searcher, SearchOptions
    from secondlook.settings.sections import SearchSettings, Settings
    from secondlook.tables.desk import Desk
    from secondlook.tables.table import Table
    from secondlook.tables.worker import Worker

    Listener = Callable[[Progress], None]

T = TypeVar("T")
_SCORES = tuple(name for name in Hit.__dataclass_fields__ if name != "passage")
_MOST_FILTERS = 100  # each is a condition of its own: very many would end the process


class Library(Closing):
    """Open one with `Library.open`; close it, or use it in a `with` block. Any number of processes
    may search while one writes. Threads may share a Library."""

    def __init__(self, path: Path, settings: Settings, manifest: Manifest, stores: Stores) -> None:
        self.path, self.settings = path, settings
        self._manifest, self._stores = manifest, stores
        self.manifest_time = opening.manifest_time(path)
        self._switching = threading.Lock()
        self._retired: list[Stores] = []
        self._worker: Worker | None = None
        self._texts = integrity.Texts()

    @classmethod
    def open(
        cls,
        path: str | Path | None = None,
        *,
        create: bool = True,
        settings: Settings | None = None,
    ) -> Self:
        """Open the library at `path` (default: the configured one), making it if allowed."""
        chosen, folder = opening.chosen_library(path, settings)
        try:
            manifest = manifests.read(folder)
        except LibraryMissing:
            if not create:
                raise
            manifest = opening.create_library(folder, chosen)
        opening.check_compatible(folder, manifest, chosen)
        opening.close_to_others(folder)
        library = cls(folder, chosen, *opening.open_current(folder, manifest, chosen))
        if library._stores.catalog.journal():
            # Finish what a killed writer left, unless another one is at work already.
            try:
                with writing(folder, wait=0):
                    recover(library._stores)
            except LibraryDamaged:
                library.close()
                raise
            except LibraryError:  # busy, or not ours to write: searching works all the same
                pass
        return library

    def close(self) -> None:
        with self._switching:
            worker, self._worker = self._worker, None
        if worker is not None:
            worker.close()
        for stores in (self._stores, *self._retired):
            stores.catalog.close()

    @property
    def language(self) -> str:
        return self._manifest.language

    @property
    def place(self) -> str:
        is_copy = published.names_bucket(self._manifest.index)
        return published.address_of(self._manifest) if is_copy else str(self.path)

    # Documents in

    def add(
        self,
        paths: str | Path | Iterable[str | Path],
        *,
        meta: Mapping[str, object] | None = None,
        exclude: str | Sequence[str] = (),
        prune: bool = False,
        wary: bool = False,
        dry_run: bool = False,
        force: bool = False,
        follow_links: bool = False,
        within: Sequence[Path] = (),
        progress: Listener | None = None,
        done: Callable[[FileChange], None] | None = None,
    ) -> AddReport:
        """Bring the library in step with these files and folders. Unchanged files cost a stat.
        `prune`: documents whose files are gone go; `wary`: not those of a folder that is empty.
        `follow_links`: also links that lead out of these folders.
        `within`: files that do not lie in one of these folders, links followed, are left out.
        `progress` is called with how far it is, `done` with each file once it is safely stored.
        Ctrl-C ends it early with a report of what is stored; the same call completes the rest."""
        from secondlook.library.survey import Request
        from secondlook.retrieval.parse.source import PARSER_VERSION

        ingest = self.settings.ingest
        request = Request(
            roots=tuple(Path(path).expanduser().absolute() for path in _listed(paths)),
            metadata=_metadata(meta),
            excludes=(*ingest.exclude, *_listed(exclude)),
            max_bytes=ingest.max_file_mb << 20,
            prune=prune,
            wary=wary,
            force=force,
            parser=PARSER_VERSION,
            own_folder=self.path,
            follow_links=follow_links,
            within=tuple(folder.resolve() for folder in within),
        )
        if dry_run:
            return self._intake(progress).plan(request)
        with self._writing(progress):
            return self._intake(progress, done).add(request)

    def add_bytes(
        self, data: bytes, name: str, *, meta: Mapping[str, object] | None = None
    ) -> AddReport:
        """Take in what has no file of its own, such as standard input. Same name: replaced."""
        metadata = _metadata(meta)
        with self._writing():
            return self._intake().add_bytes(data, name, metadata)

    def add_texts(self, texts: Iterable[Text], *, progress: Listener | None = None) -> AddReport:
        """Take in texts that are in no file, each a document named by `Text.name`."""
        with self._writing(progress):
            return self._intake(progress).add_texts(texts)

    def add_web(
        self,
        addresses: str | Iterable[str],
        *,
        depth: int = 0,
        meta: Mapping[str, object] | None = None,
        progress: Listener | None = None,
        done: Callable[[FileChange], None] | None = None,
    ) -> AddReport:
        """Fetch these web pages and take them in, each a document whose path is its address;
        `depth`: also pages of the same site, so many links away. Again: what changed is replaced.
        robots.txt is respected, and a private address refused unless `web.allow_private` is set."""
        import asyncio

        from secondlook.retrieval.web.fetch import Fetcher, Guard
        from secondlook.retrieval.web.site import PAGE_LIMITS, Page, read_site

        metadata, tell = _metadata(meta), progress or _ignore
        published.refuse_change(self.place)

        async def read(folder: Path) -> list[Page]:
            pages: list[Page] = []
            guard = Guard(allow_private=self.settings.web.allow_private)
            async with Fetcher(guard, PAGE_LIMITS) as fetcher:
                for number, address in enumerate(_listed(addresses)):
                    own = folder / str(number)
                    own.mkdir()
                    pages += await read_site(
                        address,
                        depth,
                        fetcher,
                        own,
                        looked=lambda n, url: tell(Progress("looking", files_total=n, current=url)),
                    )
            return list({page.url: page for page in pages}.values())

        with tempfile.TemporaryDirectory(prefix="secondlook-") as scratch:
            pages = asyncio.run(read(Path(scratch)))
            with self._writing(progress):
                return self._intake(progress, done).add_pages(pages, metadata)

    def remove(self, names: str | Sequence[str], *, purge: bool = False) -> list[FileChange]:
        """Forget documents, by id, path, file name or title. Purged: no byte of them stays.
        Uploaded files, which the library keeps itself, go with them; others are not touched."""
        with self._writing():
            listed = self.documents()
            found = [file for name in _listed(names) for file in self._files_meant(name, listed)]
            files = {file.path: file for file in found}
            if files:
                commit(self._stores, Change(gone_files=sorted(files)))
                delete_originals(self.path, self._stores.catalog, files.values())
            if purge:
                self._purge()
        return [FileChange(file.path, "removed", file.document) for file in files.values()]

    def dismiss(self, path: str) -> bool:
        with self._writing():
            row = self._stores.catalog.file(path)
            if row is None or row.reason is None:
                return False
            commit(self._stores, Change(gone_files=[path]))
            delete_originals(self.path, self._stores.catalog, [row])
        return True

    def compact(self, *, purge: bool = False) -> None:
        with self._writing():
            if purge:
                self._purge()
            else:
                self._stores.index.compact()

    # Searching

    def search(
        self,
        query: str,
        *,
        k: int | None = None,
        dense: float | None = None,
        lexical: float | None = None,
        rerank: bool | None = None,
        filters: Mapping[str, object] | None = None,
        documents: Collection[str] | None = None,
        exclude: str | Collection[str] = (),
    ) -> list[Hit]:
        """The passages that fit the query best. Options left out come from the settings.
        `documents` limits the search to documents named by id, path, file name or title."""
        self.refresh()
        options = search_options(
            self.settings.search, k=k, dense=dense, lexical=lexical, rerank=rerank
        )
        where = self.scope(filters=filters, documents=documents, exclude=exclude)
        return self.follow(lambda: self.hits(self.searcher().search(query, options, where)))

    def follow(self, work: Callable[[], T]) -> T:
        """Do `work`, and do it again if a rebuild took the place of what was being read."""
        self.refresh()
        try:
            return work()
        except LibraryError:
            if not self.refresh():
                raise
            return work()

    def searcher(self) -> Searcher:
        from secondlook.retrieval.search import Searcher

        def titles(documents: Collection[str]) -> dict[str, str]:
            return {row.id: row.title for row in self._stores.catalog.documents_by_id(documents)}

        index, language = self._stores.index, self._manifest.language
        return Searcher(index, self.embedder(), self.reader, language, titles)

    @property
    def index(self) -> Index:
        return self._stores.index

    def shelf(self) -> Shelf:
        return Shelf(self)

    def scope(
        self,
        *,
        filters: Mapping[str, object] | None = None,
        documents: Collection[str] | None = None,
        exclude: str | Collection[str] = (),
    ) -> Filter:
        if filters is not None and len(filters) > _MOST_FILTERS:
            raise UsageError(
                f"there are {len(filters):,} filters, and {_MOST_FILTERS} are taken",
                hint="a document must fit all of them: leave out those that change nothing",
            )
        return Filter(
            documents=None if documents is None else self._ids(_listed(documents)),
            labels=frozenset(label(key, value) for key, value in (filters or {}).items()),
            excluded=frozenset(_listed(exclude)),
        )

    def reader(self) -> Reader:
        return opening.load_reader_for(self.settings)

    def embedder(self) -> Embedder:
        """The configured embedder; refuses one that did not make this library's vectors."""
        made = self._manifest
        embedder = opening.load_embedder_for(self.settings)
        if embedder.name != made.embedder:
            raise LibraryFormat(
                f"the library at {str(self.path)!r} was made with the embedder {made.embedder!r}, "
                f"and {embedder.name!r} is what is installed now: their vectors do not mix",
                hint="secondlook rebuild makes it anew from its stored texts",
            )
        return embedder

    def as_retriever(self, **search: object) -> BaseRetriever:
        from secondlook.library.retriever import LibraryRetriever

        return LibraryRetriever(library=self, options=search)

    def hits(self, ranked: Sequence[Ranked]) -> list[Hit]:
        rows = self._stores.catalog.documents_by_id({item.entry.document for item in ranked})
        by_id = {row.id: row for row in rows}
        is_copy = published.names_bucket(self._manifest.index)
        found = []
        for item in ranked:
            entry = item.entry
            # A document between its index commit and its catalog row is not quite there yet.
            if row := by_id.get(entry.document):
                if not is_copy:  # its texts are far away
                    self._texts.compare(self._stores, row, entry)
                passage = Passage(
                    id=entry.id,
                    document=row.id,
                    sha256=row.sha256,
                    title=row.title,
                    text=entry.text,
                    start=entry.start,
                    end=entry.end,
                    page=entry.page,
                    heading=entry.heading,
                )
                scores = {name: getattr(item, name) for name in _SCORES}
                found.append(Hit(passage=passage, **scores))
        return found

    # Tables

    def tables(
        self,
        *,
        filters: Mapping[str, object] | None = None,
        documents: Collection[str] | None = None,
        where: Filter | None = None,
    ) -> tuple[Table, ...]:
        """The tables in scope. Their names are identifiers, each different in all the library."""
        self.refresh()
        chosen = where or self.scope(filters=filters, documents=documents)
        held = opening.tables_by_document(self._stores)
        labels = {row.id: set(row.labels) for row in self._stores.catalog.documents_by_id(held)}
        return tuple(
            table
            for document, tables in held.items()
            if document in labels and chosen.labels <= labels[document]
            if chosen.documents is None or document in chosen.documents
            for table in tables
        )

    def desk(self, **scope: Any) -> Desk:
        from secondlook.tables.desk import Desk

        store = self._stores.tables
        entries = [(table, store.file(table.id)) for table in self.tables(**scope)]
        return Desk(entries, folder=store.folder, worker=self.worker())

    def unusable_tables(self) -> list[FailedFile]:
        return [FailedFile(*item) for item in opening.unusable(self._stores)]

    def worker(self) -> Worker:
        from secondlook.tables.worker import Worker

        with self._switching:
            self._worker = self._worker or Worker()
            return self._worker

    # Looking around

    def documents(self, *, filters: Mapping[str, object] | None = None) -> list[DocumentInfo]:
        self.refresh()
        wanted = {label(key, value) for key, value in (filters or {}).items()}
        files: dict[str | None, list[FileRow]] = {}
        for file in self._stores.catalog.files():
            files.setdefault(file.document, []).append(file)
        tables = opening.tables_by_document(self._stores)
        found = [
            report.document_info(row, files.get(row.id, []), tables.get(row.id, ()))
            for row in self._stores.catalog.documents()
            if wanted <= set(row.labels)
        ]
        return sorted(found, key=lambda item: (item.paths, item.id))

    def paths(self, documents: Collection[str]) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for file in self._stores.catalog.files_of(documents):
            held = file.document or ""
            found[held] = (*found.get(held, ()), file.path)
        return found

    def document(self, name: str) -> DocumentInfo:
        return report.find(name, self.documents())

    def text(self, document_id: str) -> Extracted:
        self.refresh()
        rows = self._stores.catalog.documents_by_id([document_id])
        if not rows:
            said = f"the library holds no document {document_id!r}"
            raise UsageError(said, hint="secondlook list shows what it holds")
        return self._texts.read(self._stores, rows[0])[0]

    def failed_files(self) -> list[FailedFile]:
        failed = self._stores.catalog.failed_files()
        return [FailedFile(file.path, file.reason or "") for file in failed]

    def status(self) -> Status:
        self.refresh()
        stats, made = self._stores.index.stats(), self._manifest
        return Status(
            path=self.place,
            documents=len(self._stores.catalog.ids()),
            passages=stats.passages,
            tables=len(self.tables()),
            failed=tuple(self.failed_files()),
            bytes=disk_bytes(self.path),
            embedder=made.embedder,
            language=made.language,
            format=made.format,
            compact_due=stats.compact_due,
            why_compact=stats.why_compact,
            writer=active_holder(self.path),
            watched=about(self.path).watched,
        )

    # The whole

    def check(self, *, progress: Listener | None = None) -> list[Damage]:
        """Everything stored, compared with what was written: what is damaged, and what to do."""
        folder = manifests.generation_folder(self.path, self._manifest.generation)
        return list(integrity.examine(self._stores, folder, progress or _ignore))

    def publish(self, address: str) -> published.Publication:
        """Copy what changed to `s3://BUCKET/PREFIX`, where other machines can open it to read."""
        with self._writing():
            return published.publish(self.path, self._stores.catalog, address)

    def backup(self, target: str | Path) -> Path:
        file = Path(target).expanduser().absolute()
        with self._writing():
            backup.write_backup(self.path, self._stores.catalog, file)
        return file

    @classmethod
    def restore(
        cls,
        archive: str | Path,
        path: str | Path | None = None,
        *,
        force: bool = False,
        most_bytes: int = MOST_BYTES,
        settings: Settings | None = None,
    ) -> Self:
        """Make a library from a backup. An existing one is replaced only with `force`."""
        chosen, folder = opening.chosen_library(path, settings)
        if published.names_bucket(path or chosen.library.path):
            raise UsageError(
                "a backup is restored into a folder, not into object storage",
                hint="restore it with --library PATH, then secondlook publish",
            )
        file = Path(archive).expanduser().absolute()
        backup.read_backup(file, folder, force=force, most_bytes=most_bytes)
        return cls.open(folder, create=False, settings=chosen)

    @classmethod
    def rebuild(
        cls,
        path: str | Path | None = None,
        *,
        settings: Settings | None = None,
        progress: Listener | None = None,
    ) -> Self:
        """Make catalog, passages and vectors anew from the stored texts, as now configured."""
        chosen, folder = opening.chosen_library(path, settings)
        manifests.read_raw(folder)
        published.refuse_change(folder)
        embedder = opening.load_embedder_for(chosen)
        with writing(folder, wait=opening.WAIT_FOR_WRITER):
            opening.rebuild(folder, chosen, embedder, progress=progress or _ignore)
        return cls.open(folder, create=False, settings=chosen)

    def refresh(self) -> bool:
        """Follow a rebuild or restore that another process did; whether there was one."""
        with self._switching:
            if published.names_bucket(self._manifest.index):
                published.follow(published.Bucket(self.place), self.path)
            modified = opening.manifest_time(self.path)
            if modified == self.manifest_time:
                return False
            read = manifests.read(self.path)
            manifest, stores = opening.open_current(self.path, read, self.settings)
            # Other threads may be in the midst of the old ones: they are closed at the end.
            self._retired.append(self._stores)
            self._manifest, self._stores = manifest, stores
            self.manifest_time = modified
            return True

    @contextmanager
    def _writing(self, progress: Listener | None = None) -> Iterator[None]:
        def waiting(who: str) -> None:
            if progress:
                progress(Progress("waiting", current=who))

        published.refuse_change(self.place)
        with writing(self.path, wait=opening.WAIT_FOR_WRITER, waiting=waiting):
            self.refresh()
            manifests.drop_other_generations(self.path, self._manifest.generation)
            recover(self._stores)
            try:
                yield
            finally:
                self._remember_index()

    def _remember_index(self) -> None:
        folder = manifests.generation_folder(self.path, self._manifest.generation)
        with suppress(OSError):  # no room: the next writer does it
            integrity.remember_index(folder)

    def _intake(
        self, progress: Listener | None = None, done: Callable[[FileChange], None] | None = None
    ) -> Intake:
        # Parsing and ingesting are a good part of all imports, and a search needs none of them.
        from secondlook.library.ingest import Intake

        return Intake(
            self._stores,
            self._manifest,
            self.settings.ingest,
            embedder=self.embedder,
            progress=progress or _ignore,
            done=done or _ignore,
        )

    def _ids(self, names: Iterable[str]) -> frozenset[str]:
        listed: list[DocumentInfo] = []
        found = set()
        for name in names:
            if self._stores.catalog.document(name) is None:
                listed = listed or self.documents()
                found.add(report.find(name, listed).id)
            else:
                found.add(name)
        return frozenset(found)

    def _files_meant(self, name: str, listed: list[DocumentInfo]) -> list[FileRow]:
        """The files behind a name; a failed file or a whole folder can be meant by its path."""
        if not name.strip():
            raise UsageError("an empty name means no document", hint="secondlook list shows all")
        catalog = self._stores.catalog
        absolute = Path(name).expanduser().absolute()
        exact = [row for path in {name, str(absolute)} if (row := catalog.file(path))]
        inside = [row for row in catalog.files() if absolute in Path(row.path).parents]
        members = [member for row in exact for member in catalog.members_of(row.path)]
        return [*exact, *members, *inside] or catalog.files_of([report.find(name, listed).id])

    def _purge(self) -> None:
        catalog = self._stores.catalog
        self._stores.index.compact(purge=True)
        self._stores.texts.sweep(catalog.documents())
        self._stores.tables.sweep(catalog.ids())
        catalog.scrub()


def samples_folder() -> Path:
    return Path(__file__).parent.parent / "samples"


def _ignore(_: object) -> None:
    pass


def _listed(given: str | Path | Iterable[Any]) -> list[Any]:
    """One name is a list of one name, not of its letters."""
    return [given] if isinstance(given, str | Path) else list(given)


def _metadata(given: Mapping[str, object] | None) -> dict[str, str]:
    metadata = {str(key): str(value) for key, value in (given or {}).items()}
    check_metadata(metadata)
    return metadata


# What the workflows need of a library: to find, to read and to fetch, each by itself.

_REMEMBERED = 512  # passages kept at hand: the steps of a run read the same few again and again


def search_options(chosen: SearchSettings, **given: float | None) -> SearchOptions:
    from secondlook.retrieval.search import SearchOptions

    names = [name for name in SearchOptions.__dataclass_fields__ if hasattr(chosen, name)]
    options: dict[str, Any] = {name: getattr(chosen, name) for name in names}
    options |= {name: value for name, value in given.items() if value is not None}
    if options["k"] < 1:
        raise UsageError(f"k must be at least 1: {options['k']!r}")
    return SearchOptions(**options)


class Shelf:
    """Threads may share one. It follows a rebuild of the library as `Library.search` does."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._remembered: dict[str, Passage] = {}
        self._openings: dict[str, str] = {}
        self._of = library.manifest_time
        self.paths = library.paths

    @property
    def reader_name(self) -> str:
        return self._library.reader().name

    @property
    def reader_languages(self) -> tuple[str, ...]:
        from secondlook.reading.languages import trained_for

        return trained_for(self._library.reader())

    def find(self, query: str, options: SearchOptions, where: Filter = EVERYTHING) -> list[Hit]:
        return self._hits(lambda: self._library.searcher().find(query, options, where))

    def read(
        self, query: str, passages: Sequence[Passage], *, choose: Choose | None = None
    ) -> list[Reading]:
        """What the reader makes of each passage; spans count characters of its text. All are looked
        at, or those that `choose` chooses by a glance at each."""
        from secondlook.retrieval.search import read_in_context

        given = [(passage.title, passage.heading, passage.text) for passage in passages]
        openings = [self._opening(passage) for passage in passages]
        reader = self._library.reader()
        return read_in_context(reader, query, given, openings=openings, choose=choose)

    def in_context(self, query: str, passage: Passage) -> str:
        """The passage as it is read."""
        from secondlook.retrieval.search import in_context

        opening = self._opening(passage)
        return in_context(query, passage.title, passage.heading, passage.text, opening)

    def _opening(self, passage: Passage) -> str:
        """The beginning of its document; nothing where that is a page of the web."""
        from secondlook.retrieval.search import OPENING

        document = passage.document
        if document not in self._openings:
            try:
                text = self._library.text(document).text
            except SecondlookError:
                text = ""
            self._openings[document] = text[:OPENING]
        return self._openings[document]

    def read_text(self, query: str, text: str) -> Reading:
        return self._library.reader().read(query, [text])[0]

    def similarity(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """How alike the two texts of each pair are in meaning: the cosine of their vectors."""
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        vectors = dict(zip(texts, self._library.embedder().embed_passages(texts), strict=True))
        return [float(vectors[one] @ vectors[other]) for one, other in pairs]

    def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        """What the embedder makes of each text; of length 1, so that a product is the cosine."""
        made = self._library.embedder().embed_passages(list(texts))
        return [[float(value) for value in vector] for vector in made]

    def passages(self, ids: Sequence[str]) -> dict[str, Passage]:
        from secondlook.retrieval.search import Ranked

        remembered = self._remembered
        held = {name: remembered[name] for name in ids if name in remembered}
        if missing := [name for name in ids if name not in held]:
            hits = self._hits(
                lambda: [Ranked(entry, 0.0, 0.0) for entry in self._library.index.fetch(missing)]
            )
            held.update((hit.passage.id, hit.passage) for hit in hits)
        return held

    def page(self, document: str, at: int) -> int | None:
        pages = reversed(self._library.text(document).pages)
        return next((page.number for page in pages if page.start <= at), None)

    def size(self) -> tuple[int, int]:
        counts = self._library.index.documents()
        return len(counts), sum(counts.values())

    def _hits(self, work: Callable[[], list[Ranked]]) -> list[Hit]:
        hits = self._library.follow(lambda: self._library.hits(work()))
        if self._of != self._library.manifest_time or len(self._remembered) > _REMEMBERED:
            self._remembered, self._of = {}, self._library.manifest_time
            self._openings = {}
        self._remembered.update((hit.passage.id, hit.passage) for hit in hits)
        return hits


# An empty library for a question that needs none of its own.


@contextmanager
def library_or_passing(
    settings: Settings, path: str | Path | None = None, *, may_pass: bool
) -> Iterator[Library]:
    """Where there is no library, a question over its own tables gets a passing one."""
    with ExitStack() as held:
        try:
            library = held.enter_context(Library.open(path, create=False, settings=settings))
        except LibraryMissing:
            if not may_pass:
                raise
            library = held.enter_context(passing_library(settings, recorded=True))
        yield library


@contextmanager
def passing_library(settings: Settings, *, recorded: bool = False) -> Iterator[Library]:
    """Gone afterwards; only questions over tables that are kept with their run are recorded."""
    # ignore_cleanup_errors: Windows keeps files alive that are still mapped
    with tempfile.TemporaryDirectory(prefix="secondlook-", ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "library"
        own: dict[str, Any] = {"library": settings.library.model_copy(update={"path": path})}
        if not recorded:
            own["runs"] = settings.runs.model_copy(update={"keep": 0})
        with Library.open(path, settings=settings.model_copy(update=own)) as library:
            yield library
