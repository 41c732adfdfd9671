"""A PDF form with printed labels and filled-in fields, built from scratch."""

from tests.support.hostile_forms import raw_pdf

BOX = "/FT /Btn /AP << /N << /On 6 0 R /Off 6 0 R >> >>"
PRINT = (
    (16, 72, 740, "Boat hire form"),
    (11, 72, 700, "Name of hirer:"), (11, 320, 700, "Day ........................"),
    (11, 72, 672, "Boat"),
    (11, 90, 640, "Life jackets wanted, one for each"), (11, 90, 627, "person on board"),
    (11, 90, 610, "Own oars"),
    (11, 72, 580, "Deposit paid in"), (11, 190, 580, "cash"), (11, 260, 580, "card"),
    (11, 72, 550, "Remarks"),
    (11, 72, 480, "Left blank"), (11, 300, 480, "Door code"), (11, 72, 452, "Signature"),
    (11, 72, 420, "Part"), (11, 200, 420, "Price"),
    (11, 72, 406, "Mooring"), (11, 200, 406, "EUR 9"),
)  # fmt: skip
WIDGETS = (
    "/Rect [160 695 300 712] /FT /Tx /T (a) /V (Ines Haldorsen)",
    "/Rect [350 695 480 712] /FT /Tx /T (b) /V (4 June 2031)",
    "/Rect [160 667 300 684] /FT /Ch /Ff 131072 /T (c) /Opt [[(k) (Kite)] [(h) (Heron)]] /V (h)",
    f"/Rect [72 638 82 648] /T (d) {BOX} /V /On /AS /On",
    f"/Rect [72 608 82 618] /T (e) {BOX} /AS /Off",
    f"/Rect [175 578 185 588] /T (p) /Ff 32768 {BOX} /AS /Off",
    f"/Rect [245 578 255 588] /T (q) /Ff 32768 {BOX} /V /On /AS /On",
    "/Rect [72 500 400 545] /FT /Tx /Ff 4096 /T (f) /V (Back by six.\\rKeys under the mat.)",
    "/Rect [160 475 280 492] /FT /Tx /T (g) /V ()",
    "/Rect [360 475 480 492] /FT /Tx /Ff 8192 /T (h) /V (4711)",
    "/Rect [160 447 300 464] /FT /Sig /T (i)",
    "/Rect [400 380 500 397] /FT /Tx /T (deep.j) /TU (Berth) /V (B 12)",
    "/Rect [400 350 500 367] /FT /Tx /T (warden) /V (P. Lund)",
    "/Rect [400 320 500 337] /F 2 /FT /Tx /T (unseen) /V (hidden words)",
)


def form(widgets: tuple[str, ...] = WIDGETS, fields: str | None = None) -> bytes:
    written = "\n".join(
        f"BT /F1 {size} Tf {left} {bottom} Td ({words}) Tj ET"
        for size, left, bottom, words in PRINT
    ).encode()
    kids = " ".join(f"{7 + number} 0 R" for number in range(len(widgets)))
    font = b"<< /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
    return raw_pdf(
        b"<< /Type /Catalog /Pages 2 0 R /AcroForm 5 0 R >>",
        b"<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources %s "
        b"/Annots [%s] >>" % (font, kids.encode()),
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(written), written),
        f"<< /Fields {fields or f'[{kids}]'} >>".encode(),
        b"<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Length 0 >>\nstream\n\nendstream",
        *(f"<< /Type /Annot /Subtype /Widget /P 3 0 R {widget} >>".encode() for widget in widgets),
    )
