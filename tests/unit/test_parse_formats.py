"""Every format: the text in reading order, its headings and pages, what the file says of itself."""

from __future__ import annotations

import io
import unicodedata
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secondlook.errors import Damaged, Encrypted
from secondlook.retrieval.parse.compose import Composer, clean, language_of, one_line, tidy
from secondlook.retrieval.parse.extract import extract_bytes
from secondlook.retrieval.parse.source import Budget
from secondlook.retrieval.parse.text import MOST_ROWS, SHOWN_ROWS
from tests.support import files
from tests.support.compound import message
from tests.support.files import PROSE, word_paragraph
from tests.support.pdf_form import WIDGETS, form

if TYPE_CHECKING:
    from secondlook.document import Extracted


def read(data: bytes | str, name: str) -> Extracted:
    parsed = extract_bytes(data.encode() if isinstance(data, str) else data, name)
    assert len(parsed) == 1, parsed
    assert parsed[0].extracted is not None, parsed[0].error
    return parsed[0].extracted


def error_of(data: bytes | str, name: str) -> BaseException:
    parsed = extract_bytes(data.encode() if isinstance(data, str) else data, name)
    assert parsed[0].error is not None, parsed[0].extracted
    return parsed[0].error


def headings(extracted: Extracted) -> list[tuple[int, str]]:
    return [(item.level, extracted.text[item.start : item.end]) for item in extracted.headings]


def page_texts(extracted: Extracted) -> list[str]:
    return [extracted.text[page.start : page.end] for page in extracted.pages]


# PDF


def test_pdf_lines_become_paragraphs_and_broken_words_whole() -> None:
    lines = [
        "The keeper of the northern light wrote down what the in-",
        "struments had shown him during the night. He never forgot a",
        "single well-",
        "known ship. It was well-known and dear to him.",
    ]
    assert read(files.pdf([lines]), "a.pdf").text == (
        "The keeper of the northern light wrote down what the instruments had shown him during the "
        "night. He never forgot a single well-known ship. It was well-known and dear to him."
    )


def test_pdf_pages_metadata_and_headings() -> None:
    extracted = read(
        files.pdf(
            [[(20, "The Northern Cape"), "Wind from the west."], ["Calm on the second day."]],
            title="Log of the Cape",
            author="A. Keeper",
        ),
        "a.pdf",
    )
    assert page_texts(extracted) == [
        "The Northern Cape\n\nWind from the west.",
        "Calm on the second day.",
    ]
    assert headings(extracted) == [(1, "The Northern Cape")]
    assert (extracted.title, extracted.author) == ("Log of the Cape", "A. Keeper")
    assert (extracted.date, extracted.kind) == ("2024-05-17", "pdf")


def test_pdf_outline_gives_headings() -> None:
    extracted = read(
        files.pdf(
            [["1 Introduction", "Some words here."], ["Methods", "More words here."]],
            outline=[("Introduction", 0), ("Methods", 1)],
        ),
        "a.pdf",
    )
    assert headings(extracted) == [(1, "1 Introduction"), (1, "Methods")]
    assert "Introduction\n\nSome words" in extracted.text


def test_pdf_columns_are_read_one_after_the_other() -> None:
    lines = ["left one and", "left two and", "left three which", "goes on right", "and ends."]
    extracted = read(files.pdf([lines], columns=2), "a.pdf")
    assert extracted.text == "left one and left two and left three which goes on right and ends."


def test_pdf_sentences_go_on_over_pages_and_running_lines_are_dropped() -> None:
    pages = [
        ["The Harbour Review", f"Sentence {word} begins on this page and", "it is long enough to",
         str(number + 1)]
        for number, word in enumerate(["one", "two", "three", "four", "five"])
    ]  # fmt: skip
    pages = [[head, *(["be continued there."] if number else []), *rest]
             for number, (head, *rest) in enumerate(pages)]  # fmt: skip
    extracted = read(files.pdf(pages), "a.pdf")
    assert extracted.text.count("The Harbour Review") == 1
    assert "it is long enough to be continued there." in extracted.text
    assert "\n1\n" not in extracted.text
    assert page_texts(extracted)[1].startswith("be continued there.")


# Office


def test_docx_headings_tables_lists_notes_and_insertions() -> None:
    listed = '<w:numPr><w:numId w:val="1"/></w:numPr>'
    body = (
        word_paragraph("Bericht", style="berschrift1")
        + word_paragraph("Kapitel eins", style="Kapitel")
        + "<w:p><w:r><w:t>Ein </w:t></w:r><w:ins><w:r><w:t>neuer </w:t></w:r></w:ins>"
        "<w:del><w:r><w:delText>alter </w:delText></w:r></w:del><w:r><w:t>Satz.</w:t></w:r></w:p>"
        + word_paragraph("Punkt", properties=listed)
        + word_paragraph("Strich", properties=listed)
        + f"<w:sdt><w:sdtContent>{word_paragraph('Im Feld.')}</w:sdtContent></w:sdt>"
        + f"<w:tbl><w:tr><w:tc>{word_paragraph('Jahr')}</w:tc><w:tc>{word_paragraph('Wert')}</w:tc></w:tr>"  # noqa: E501
        f"<w:tr><w:tc>{word_paragraph('2020')}</w:tc><w:tc>{word_paragraph('7')}</w:tc></w:tr></w:tbl>"
        "<w:p><w:r><w:txbxContent>" + word_paragraph("Im Kasten.") + "</w:txbxContent></w:r></w:p>"
        '<w:p><w:pPr><w:outlineLvl w:val="2"/></w:pPr><w:r><w:t>Tief</w:t><w:tab/>'
        '<w:sym w:char="2192"/><w:sym w:char="F0B7"/><w:sym w:char="zz"/></w:r></w:p>'
    )
    note = (
        '<w:footnotes xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
        '<w:footnote w:type="separator"><w:p/></w:footnote><w:footnote>'
        + word_paragraph("Eine Fußnote.") + "</w:footnote></w:footnotes>"
    )  # fmt: skip
    extracted = read(
        files.docx(body, title="Der Bericht", author="Ada", extra={"word/footnotes.xml": note}),
        "a.docx",
    )
    assert extracted.text.split("\n\n") == [
        "Bericht", "Kapitel eins", "Ein neuer Satz.", "- Punkt\n- Strich", "Im Feld.",
        "Jahr | Wert\n2020 | 7", "Im Kasten.", "Tief →", "Eine Fußnote.",
    ]  # fmt: skip
    assert headings(extracted) == [(1, "Bericht"), (1, "Kapitel eins"), (3, "Tief →")]
    assert (extracted.title, extracted.author, extracted.date) == (
        "Der Bericht",
        "Ada",
        "2023-02-03",
    )


def test_pptx_order_titles_and_notes() -> None:
    data = files.pptx([("First", "one\ntwo"), ("Second", "three")], notes="Speak up.", shown=[2, 1])
    extracted = read(data, "a.pptx")
    assert page_texts(extracted) == ["Second\n\nthree", "First\n\none\ntwo\n\nSpeak up."]
    assert headings(extracted) == [(1, "Second"), (1, "First")]
    empty = files.zipped({"[Content_Types].xml": "<Types/>", "ppt/x.xml": "<x/>"})
    assert "ppt/presentation.xml" in str(error_of(empty, "a.pptx"))


def test_spreadsheet_rows_name_their_columns() -> None:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    from datetime import date

    stream = io.BytesIO()
    workbook = xlsxwriter.Workbook(stream, {"in_memory": True})
    sheet = workbook.add_worksheet("Ships")
    for row, cells in enumerate(
        [["Ship", "Crew", "Length"], ["Aurora", 12, 20.5], ["Bounty", 46, ""]]
    ):
        sheet.write_row(row, 0, cells)
    sheet.write_datetime(3, 0, date(2024, 5, 17), workbook.add_format({"num_format": "yyyy-mm-dd"}))
    workbook.add_worksheet("Empty")
    numbers = workbook.add_worksheet("Numbers")
    numbers.write_row(0, 0, [1, 2])
    numbers.write_row(1, 0, [3, 4])
    workbook.close()
    extracted = read(stream.getvalue(), "ships.xlsx")
    assert page_texts(extracted) == [
        (
            "Ships\n\nShip | Crew | Length\nShip: Aurora; Crew: 12; Length: 20.5\n"
            "Ship: Bounty; Crew: 46\nShip: 2024-05-17"
        ),
        "",
        "Numbers\n\n1 | 2\n3 | 4",
    ]
    assert headings(extracted) == [(1, "Ships"), (1, "Numbers")]
    assert isinstance(error_of(stream.getvalue()[:-200], "x.xlsx"), Damaged)


@pytest.mark.parametrize(
    ("data", "name", "expected"),
    [
        ("name;age\nBob;3\n\nAl;4\n", "a.csv", "name | age\nname: Bob; age: 3\nname: Al; age: 4"),
        ("a\tb\n1\t2\n", "a.tsv", "a | b\na: 1; b: 2"),
        ("1,2\n3,4\n", "a.csv", "1 | 2\n3 | 4"),
        ('x,y\n"multi\nline",2,3\n', "a.csv", "x | y\nx: multi line; y: 2; 3"),
    ],
)
def test_csv(data: str, name: str, expected: str) -> None:
    assert read(data, name).text == expected


def test_odt_and_odp() -> None:
    content = (
        '<office:text><text:h text:outline-level="2">Kopf</text:h><text:p>a<text:s/>b '
        "<text:span>c</text:span> d<text:line-break/>e</text:p><text:list><text:list-item>"
        "<text:p>Punkt</text:p></text:list-item></text:list><table:table><table:table-row>"
        "<table:table-cell><text:p>x</text:p></table:table-cell><table:table-cell><text:p>y</text:p>"
        "</table:table-cell></table:table-row></table:table></office:text>"
    )
    extracted = read(files.odf(content, title="Ein Titel"), "a.odt")
    assert extracted.text == "Kopf\n\na b c d e\n\n- Punkt\n\nx | y"
    assert headings(extracted) == [(2, "Kopf")]
    assert (extracted.title, extracted.author, extracted.date) == ("Ein Titel", "Ada", "2022-07-08")
    slides = (
        "<office:presentation><draw:page><draw:frame><text:p>body</text:p></draw:frame>"
        '<draw:frame presentation:class="title"><text:p>Head</text:p></draw:frame>'
        "<presentation:notes><text:p>note</text:p></presentation:notes></draw:page></office:presentation>"
    )
    shown = read(files.odf(slides, kind="presentation"), "a.odp")
    assert page_texts(shown) == ["Head\n\nbody\n\nnote"]
    locked = files.odf(content, manifest="<manifest:encryption-data/>")
    assert isinstance(error_of(locked, "a.odt"), Encrypted)
    data = files.zipped({"mimetype": "application/vnd.oasis.opendocument.text"})
    assert isinstance(error_of(data, "a.odt"), Damaged)


# Books, mail, web pages


def test_epub_follows_the_spine() -> None:
    chapters = {
        "c1": "<html><body><header>kept</header><h1>Ebb</h1><p>Water falls.</p></body></html>",
        "c2": "<p>Foreword.</p>",
    }
    extracted = read(files.epub(chapters, spine=["c2", "c1", "gone"]), "a.epub")
    assert extracted.text == "Foreword.\n\nkept\n\nEbb\n\nWater falls."
    assert headings(extracted) == [(1, "Ebb")]
    lock = '<e><EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#aes128-cbc"/></e>'
    locked = files.epub({"c1": "<p>x</p>"}, extra={"META-INF/encryption.xml": lock})
    assert isinstance(error_of(locked, "a.epub"), Encrypted)
    assert (extracted.title, extracted.author, extracted.date) == (
        "A Book of Tides",
        "Mara Lind",
        "1998",
    )


def test_mail_with_attachments() -> None:
    attachments = {
        "notes.txt": b"attached words",
        "../../evil.md": b"# Evil",
        "in.zip": files.zipped({"x.txt": "deep"}),
    }
    parsed = extract_bytes(
        files.mail("Hallo Welt", html="<p>ignored</p>", attachments=attachments), "a.eml"
    )
    by_member = {item.member: item.extracted for item in parsed}
    own = by_member[""]
    assert own is not None
    assert own.text.endswith("Subject: Grüße aus dem Hafen\n\nHallo Welt")
    assert (own.title, own.date, own.kind) == ("Grüße aus dem Hafen", "2024-05-17", "mail")
    assert own.author == "Ada Ferro <ada@example.org>"
    assert set(by_member) == {"", "notes.txt", "evil.md", "in.zip/x.txt"}
    assert len({item.sha256 for item in parsed}) == 4


def test_html_keeps_content_and_drops_furniture() -> None:
    page = """<!doctype html><html><head><title>The Tides - Example</title>
    <meta name="author" content="Mara Lind">
    <meta property="article:published_time" content="2021-03-04T00:00">
    <style>p {}</style><script>var x = "<p>no</p>";</script></head><body>
    <header><a>Logo</a></header><nav><ul><li>Home</ul></nav>
    <article><header><h1>Tides</h1></header><p>The sea <b>ri</b>ses &amp; falls.<br>Twice a day.</p>
    <ul><li>ebb</li><li>flood</li></ul>
    <table><tr><th>Port</th><th>Height</th></tr><tr><td><p>Brest</p></td><td>7&nbsp;m</td></tr></table>
    <pre>a
      b</pre><h2>Moon</h2>tail text<img alt="a diagram"><div hidden>secret</div>
    <footer>Kept, as part of the article.</footer></article>
    <aside>Related links</aside><footer>Imprint</footer></body></html>"""
    extracted = read(page, "a.html")
    assert extracted.text.split("\n\n") == [
        "Tides", "The sea rises & falls. Twice a day.", "- ebb\n- flood", "Port | Height\nBrest | 7 m",  # noqa: E501
        "a\n      b", "Moon", "tail text a diagram", "Kept, as part of the article.",
    ]  # fmt: skip
    assert headings(extracted) == [(1, "Tides"), (2, "Moon")]
    assert (extracted.title, extracted.author) == ("The Tides - Example", "Mara Lind")
    assert (extracted.date, extracted.kind) == ("2021-03-04", "html")


# Text and code


def test_markdown_headings_and_front_matter() -> None:
    text = (
        '---\ntitle: "The Log"\nauthors:\n  - Ada\n  - name: Bo\ntags: [x]\ndate: 2020-01-02\n---\n\n# One #\n\n'  # noqa: E501
        "```sh\n# not a heading\n```\n\nTwo\n===\n\n### Three\n\npara\n---\n\n- item\n\n    # code\n"  # noqa: E501
    )
    extracted = read(text, "a.md")
    assert headings(extracted) == [(1, "One"), (1, "Two"), (3, "Three"), (2, "para")]
    assert (extracted.title, extracted.author, extracted.date) == (
        "The Log",
        "Ada, Bo",
        "2020-01-02",
    )
    assert "authors" not in extracted.text


def test_notebook() -> None:
    outputs = [
        {"output_type": "stream", "text": ["1\n"]},
        {"output_type": "execute_result", "data": {"text/plain": "'two'"}},
        {"output_type": "display_data", "data": {"image/png": "A", "text/plain": "<Figure>"}},
        {"output_type": "error", "ename": "KeyError", "evalue": "x"},
    ]
    data = files.notebook(
        {"cell_type": "markdown", "source": ["# Title\n", "\n", "words"]},
        {"cell_type": "code", "source": "print(1)", "outputs": outputs},
    )
    extracted = read(data, "a.ipynb")
    assert extracted.text == "# Title\n\nwords\n\nprint(1)\n\n1\n\n'two'\n\nKeyError: x"
    assert headings(extracted) == [(1, "Title")]
    assert isinstance(error_of("{nope", "a.ipynb"), Damaged)


def test_subtitles() -> None:
    srt = "1\n00:00:01,000 --> 00:00:02,000\nHello <i>there</i>\n\n2\n00:00:03,000 --> 00:00:04,000\nfriend.\n"  # noqa: E501
    assert read(srt, "a.srt").text == "Hello there friend."
    vtt = "WEBVTT\n\nNOTE hidden\n\n00:01.000 --> 00:02.000 align:left\n- Who?\n"
    assert read(vtt, "a.vtt").text == "- Who?"
    cue = "{}\n00:00:01,000 --> 00:00:02,000\n" + "A sentence of some length here. " * 12
    assert read("\n\n".join(cue.format(n) for n in (1, 2)), "b.srt").text.count("\n\n") == 1


def test_rtf() -> None:
    data = rb"{\rtf1\ansi{\info{\title Das Gr\'fcn}{\author J\u246?rg}{\creatim\yr2021\mo3\dy4}}Hello \b world\b0 .\par Zwei \u8364? \'fc.\par}"  # noqa: E501
    extracted = read(data, "a.rtf")
    assert extracted.text == "Hello world.\n\nZwei € ü."
    assert (extracted.title, extracted.author, extracted.date) == ("Das Grün", "Jörg", "2021-03-04")


# Outlook and the other things that live in compound files

HEADERS = (
    "From: Ada Ferro <ada@example.org>\r\nTo: Bo <bo@example.org>\r\n"
    "Date: Fri, 17 May 2024 10:00:00 +0200\r\n"
)


def test_a_message_with_body_headers_and_attachments() -> None:
    data = message(
        {0x0037: "Tide tables", 0x1000: "Please find\r\nthe tables attached.", 0x007D: HEADERS},
        {"tables.txt": b"high water at noon", "..\\evil.md": b"# Evil"},
    )
    parsed = {item.member: item for item in extract_bytes(data, "a.msg")}
    own = parsed[""].extracted
    assert own is not None, parsed[""].error
    assert own.text.endswith("Subject: Tide tables\n\nPlease find\nthe tables attached.")
    assert "From: Ada Ferro <ada@example.org>" in own.text
    assert (own.title, own.kind, own.date) == ("Tide tables", "mail", "2024-05-17")
    assert set(parsed) == {"", "tables.txt", "evil.md"}
    assert parsed["tables.txt"].extracted is not None


# Tables as documents: short ones are text, long ones are described by a card

SENTENCE = "The weir was opened twice that night and the pilot wrote down each time he heard it."


def csv_of(rows: int, cell: str = "quay") -> str:
    return "berth,depth\n" + "".join(f"{cell} {n},{n / 10}\n" for n in range(rows))


def test_a_long_table_is_described() -> None:
    found = read(csv_of(MOST_ROWS + 1), "depths.csv")
    assert found.card
    assert found.text.startswith(f"A table of {MOST_ROWS + 1:,} rows and 2 columns")
    assert "Columns: berth, depth." in found.text
    assert f"berth: quay {SHOWN_ROWS - 1};" in found.text
    assert f"quay {SHOWN_ROWS};" not in found.text


def test_rows_of_sentences_stay_searchable() -> None:
    found = read(csv_of(MOST_ROWS + 1, SENTENCE), "reports.csv")
    assert not found.card
    assert found.text.count("\n") == MOST_ROWS + 1


# Decoding, cleaning and composing: what every format ends in.

GERMAN = (
    "Der Leuchtturmwärter schrieb jeden Abend in ein dickes Heft. Er notierte den Wind, die Höhe "
    "der Wellen und die Namen der Schiffe, die am nördlichen Kap vorüberfuhren. Später fügte er "
    "hinzu, was ihm große Mühe machte."
)
RUSSIAN = (
    "Смотритель маяка каждый вечер писал в толстой тетради. Он записывал ветер, высоту волн и "
    "названия кораблей, которые проходили мимо северного мыса. Позже он добавлял своё мнение."
)
JAPANESE = (
    "灯台守は毎晩、厚い帳面に書き込みました。風の強さ、波の高さ、そして北の岬を通り過ぎる船の名前を"
    "記録しました。後になって、彼は自分の考えも書き加えました。これは長い冬の間の楽しみでした。"
)
CHINESE = (
    "灯塔看守人每天晚上都在一本厚厚的笔记本上写字。他记录风力、海浪的高度以及经过北角的船只的名字。"
    "后来他还加上了自己的想法。这是漫长冬天里的乐趣。"
)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        *((GERMAN, encoding) for encoding in ("cp1252", "utf-8-sig", "utf-32-be")),
        *((JAPANESE, encoding) for encoding in ("utf-16-le", "shift_jis")),
        *((CHINESE, "gb18030"), (RUSSIAN, "koi8-r")),
    ],
)
def test_any_encoding_is_read(text: str, encoding: str) -> None:
    parsed = extract_bytes(text.encode(encoding) * 3, "note.txt")[0]
    assert parsed.extracted is not None
    assert parsed.extracted.text.startswith(text[:60])
    assert parsed.extracted.notes == ()


@given(st.text(max_size=300))
def test_clean_text_has_no_surprises(text: str) -> None:
    result = clean(text)
    assert "\r" not in result
    assert "\x00" not in result
    assert unicodedata.is_normalized("NFC", result)
    result.encode("utf-8")
    assert clean(result) == result
    assert tidy(tidy(text)) == tidy(text)
    assert "\n\n\n" not in tidy(text)
    assert one_line(one_line(text)) == one_line(text)


pieces = st.lists(
    st.tuples(
        st.sampled_from(["heading", "paragraph", "block", "line", "page", "join"]),
        st.text(max_size=40),
    ),
    max_size=30,
)


@given(pieces)
@settings(max_examples=150)
def test_maps_are_exact(actions: list[tuple[str, str]]) -> None:
    composer = Composer(Budget())
    headings: list[str] = []
    page = 0
    for action, text in actions:
        if action == "page":
            page += 1
            composer.start_page(page)
        elif action == "heading":
            composer.heading(2, text)
            headings.extend([one_line(text)] if one_line(text) else [])
        elif action == "join":
            composer.paragraph(text, " ")
        else:
            getattr(composer, action)(text)
    result = composer.finish("text")
    assert [result.text[item.start : item.end] for item in result.headings] == headings
    assert [item.number for item in result.pages] == list(range(1, page + 1))
    for before, after in zip(result.pages, result.pages[1:], strict=False):
        assert before.start <= before.end <= after.start
    assert result.text == result.text.strip("\n")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (PROSE, "en"), (GERMAN, "de"), (RUSSIAN, "ru"), (JAPANESE, "ja"),
        (CHINESE, "zh"), ("Too short to tell.", None), (PROSE * 100, "en"),
    ],
)  # fmt: skip
def test_language_is_detected(text: str, code: str | None) -> None:
    assert language_of(text) == code


# Values that were typed into the fields of a PDF form.


def parsed(data: bytes) -> Extracted:
    (document,) = extract_bytes(data, "form.pdf")
    assert document.extracted is not None, document.error
    return document.extracted


def test_values_stand_behind_their_labels_in_reading_order() -> None:
    assert parsed(form()).text.split("\n\n") == [
        "Boat hire form",
        (
            "Name of hirer: Ines Haldorsen\nDay: 4 June 2031\nBoat: Heron\n"
            "Life jackets wanted, one for each person on board: yes\nOwn oars: no"
        ),
        "Deposit paid in",
        "cash: no\ncard: yes\nRemarks: Back by six. Keys under the mat.",
        "Left blank Door code Signature",
        "Part: Price\nMooring: EUR 9",
        "Berth: B 12\nwarden: P. Lund",
    ]


def test_offsets_of_pages_and_headings_stay_right() -> None:
    found = parsed(form())
    (page,), (heading,) = found.pages, found.headings
    assert (page.start, page.end) == (0, len(found.text))
    assert found.text[heading.start : heading.end] == "Boat hire form"


def test_a_form_with_nothing_filled_in_reads_as_print() -> None:
    blank = tuple(widget.split(" /V ")[0].replace("/AS /On", "") for widget in WIDGETS)
    text = parsed(form(blank)).text
    assert "Name of hirer: Day" in text
    assert ": no" not in text


@pytest.mark.parametrize(
    ("widgets", "fields"),
    [
        (("/Rect 9 /FT 9 /T 9 /V 9 0 R", "/FT /Tx /Parent 8 0 R /V [1]", *WIDGETS[:1]), None),
        (("/Rect [9 9 1e38 -1e38] /FT /Ch /Opt 7 0 R /V 7 0 R /TU <FEFFD800>",), "[7 0 R [5 0 R]]"),
        (WIDGETS, "7 0 R"),
        (WIDGETS, "null"),
    ],
)
def test_a_broken_form_does_not_cost_the_page(widgets: tuple[str, ...], fields: str | None) -> None:
    assert "Left blank" in parsed(form(widgets, fields)).text


def test_far_too_many_fields_cost_the_values_only() -> None:
    many = tuple(f"/Rect [9 {n} 99 {n + 9}] /FT /Tx /T (t{n}) /V (v{n})" for n in range(1_500))
    assert "v7" not in parsed(form(many)).text
    assert "t7: v7" in parsed(form(many[:200])).text
