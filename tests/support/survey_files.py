"""Two small collections with exact truth: the papers of a workshop and those of an estate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.files import pdf

if TYPE_CHECKING:
    from pathlib import Path

INVOICES = (
    # number, supplier, date, net, VAT, total, currency, due
    ("4011", "Tarn Timber", "3 March 2025", "640.00", "128.00", "768.00", "£", "2 April 2025"),
    ("4012", "Bexley Glass", "5 March 2025", "1,150.00", "230.00", "1,380.00", "£", "4 April 2025"),
    ("4013", "Orrin Metals", "11 March 2025", "92.50", "18.50", "111.00", "£", "10 April 2025"),
    ("4014", "Tarn Timber", "19 March 2025", "410.00", "82.00", "492.00", "£", "18 April 2025"),
    ("4015", "Kepler Tools", "2 April 2025", "2,045.00", "409.00", "2,454.00", "£", "2 May 2025"),
    ("4016", "Bexley Glass", "9 April 2025", "305.00", "61.00", "366.00", "£", "9 May 2025"),
    ("4017", "Orrin Metals", "22 April 2025", "78.00", "15.60", "93.60", "£", "22 May 2025"),
    ("4018", "Kepler Tools", "6 May 2025", "560.00", "112.00", "672.00", "£", "5 June 2025"),
    ("4019", "Tarn Timber", "14 May 2025", "1,020.00", "204.00", "1,224.00", "£", "13 June 2025"),
    ("4020", "Orrin Metals", "28 May 2025", "147.50", "29.50", "177.00", "£", "27 June 2025"),
    ("4021", "Vestergaard", "30 May 2025", "800.00", "200.00", "1,000.00", "€", "29 June 2025"),
    ("4022", "Vestergaard", "12 June 2025", "1,240.00", "310.00", "1,550.00", "€", "12 July 2025"),
)
TOTALS = {"£": "7,737.60", "€": "2,550.00"}
DELIVERIES = (
    ("Tarn Timber", "Tuesday", "four weeks", "Nell Abara"),
    ("Bexley Glass", "Thursday", "six weeks", "Jonas Reith"),
    ("Orrin Metals", "Monday", "two weeks", "Priya Sallow"),
)
WORKSHOP_MINUTES = (
    ("14 January 2025", ("Ada Fenwick", "Tom Brierley", "Sun Kaur"), "the new lathe"),
    ("11 February 2025", ("Ada Fenwick", "Lena Moss", "Sun Kaur"), "the dust extractor"),
)
LEASES = (
    # place, tenant, start, end, rent, deposit, notice
    ("12 Mill Lane", "Rosa Quint", "1 May 2023", "30 April 2026", "1,150", "2,300", "two months"),
    ("3 Oak Court", "Piet Harmsen", "1 August 2022", "31 July 2025", "980", "1,470", "one month"),
    ("8 Quay Road", "Ines Duarte", "15 January 2024", "14 January 2029", "1,420", "4,260",
     "three months"),
    ("21 Hill Rise", "Owen Tallis", "1 November 2024", "31 October 2027", "875", "1,750",
     "two months"),
)  # fmt: skip
POLICIES = (
    ("Marlow Mutual", "buildings", "612", "250", "1 September 2025"),
    ("Castlegate", "boiler cover", "189", "60", "15 March 2026"),
    ("Northern Shield", "public liability", "340", "500", "30 June 2025"),
)
REPORTS = (
    ("12 Mill Lane", "4 February 2025", "Grace Oduya", "damp under the kitchen window"),
    ("3 Oak Court", "20 February 2025", "Grace Oduya", "a cracked tile in the bathroom"),
    ("8 Quay Road", "6 March 2025", "Samir Vale", "a loose handrail on the stairs"),
)
ESTATE_MINUTES = (
    ("9 January 2025", ("Rosa Quint", "Hal Benning", "Maud Eyre")),
    ("3 April 2025", ("Hal Benning", "Owen Tallis", "Maud Eyre")),
)


def workshop(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number, firm, date, net, vat, total, sign, due in INVOICES:
        coin = sign.replace("€", "EUR ") if int(number) % 2 else sign  # a font without the sign
        if int(number) % 2:
            lines: list[tuple[float, str] | str] = [
                (18.0, f"Invoice {number}"), f"{firm} Ltd, Station Yard, Hexam",
                "Bill to: Fenwick Workshop, 2 Mill Street", f"Date of issue: {date}",
                "", f"Materials as ordered   {coin}{net}", f"Subtotal: {coin}{net}",
                f"VAT: {coin}{vat}", f"Total due: {coin}{total}", f"Payment due by {due}.",
                "Thank you for your business.",
            ]  # fmt: skip
            (folder / f"{number}.pdf").write_bytes(pdf([lines], title=f"Invoice {number}"))
        else:
            text = (
                f"{firm}\nStation Yard, Hexam\n\nINVOICE no. {number}\n\nTo: Fenwick Workshop\n"
                f"Invoice date: {date}\n\nDear customer, we charge for the goods delivered:\n\n"
                f"Net amount: {coin}{net}\nVAT: {coin}{vat}\nAmount payable: {coin}{total}\n\n"
                f"Please pay by {due} to our account.\n"
            )
            (folder / f"{number}.txt").write_text(text)
    for firm, day, notice, person in DELIVERIES:
        (folder / f"{firm.split()[0].lower()}-agreement.md").write_text(
            f"# Supply agreement with {firm}\n\n"
            f"This agreement is made between Fenwick Workshop and {firm}, the supplier.\n\n"
            f"## Deliveries\n\n{firm} delivers every {day} before noon. The driver rings the bell "
            f"at the yard gate.\n\n## Contact\n\nQuestions are answered by {person}.\n\n"
            f"## Ending the agreement\n\nEither side may end the agreement with {notice} notice in "
            "writing.\n"
        )
    for at, (date, people, topic) in enumerate(WORKSHOP_MINUTES, 1):
        (folder / f"minutes-{at}.txt").write_text(
            f"Minutes of the workshop meeting of {date}\n\nPresent: {', '.join(people)}\n\n"
            f"1. The minutes of the last meeting were approved.\n2. The members spoke about "
            f"{topic}. {people[0]} will ask for prices.\n3. The meeting closed at nine.\n"
        )
    (folder / "price-list.txt").write_text(
        "Price list 2025\n\nHourly rate of the workshop: £38\nHire of the lathe per day: £55\n"
        "Sharpening of a blade: £6\n"
    )
    (folder / "house-rules.txt").write_text(
        "Rules of the workshop\n\nWear goggles at every machine. Sweep the floor before you leave. "
        "The last to leave locks the gate. Invoices go into the red tray in the office.\n"
    )
    (folder / "letter-council.txt").write_text(
        "Hexam Council\n\n2 June 2025\n\nDear Ms Fenwick,\n\nWe write about the noise of the dust "
        "extractor in Mill Street. Please keep the doors closed after 18:00.\n\nYours sincerely,\n"
        "B. Lowther\n"
    )


def estate(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for place, tenant, start, end, rent, deposit, notice in LEASES:
        (folder / f"{place.split(maxsplit=1)[1].lower().replace(' ', '-')}.txt").write_text(
            f"LEASE\n\nof the property {place}, Dunholm\n\nbetween Ashby Estates (the landlord) "
            f"and {tenant} (the tenant)\n\n1. Term. The lease begins on {start} and ends "
            f"on {end}.\n\n"
            f"2. Rent. The tenant pays a monthly rent of £{rent}, on the first day of each "
            "month.\n\n"
            f"3. Deposit. The tenant has paid a deposit of £{deposit}, which is held by the "
            f"Deposit Trust.\n\n4. Notice. The tenant may end the lease early with "
            f"{notice} notice.\n\n"
            "5. Repairs. The landlord keeps the roof and the boiler in repair.\n"
        )
    for insurer, what, premium, excess, expiry in POLICIES:
        (folder / f"{insurer.split()[0].lower()}.txt").write_text(
            f"{insurer} Insurance\n\nPolicy schedule: {what}\n\nPolicyholder: Ashby Estates\n"
            f"Annual premium: £{premium}\nExcess: £{excess} for each claim\nThis policy expires on "
            f"{expiry}.\n\nClaims are reported by telephone within seven days.\n"
        )
    for at, (place, date, inspector, found) in enumerate(REPORTS, 1):
        (folder / f"report-{at}.md").write_text(
            f"# Inspection report: {place}\n\nInspected on {date} by {inspector}.\n\n"
            f"## Findings\n\nThe inspector found {found}. Everything else is in good order.\n\n"
            "## Next visit\n\nThe next visit is in a year.\n"
        )
    for at, (date, people) in enumerate(ESTATE_MINUTES, 1):
        (folder / f"meeting-{at}.txt").write_text(
            f"Residents' association of Dunholm\n\nMinutes of the meeting on {date}\n\n"
            f"Present: {', '.join(people)}\n\nThe treasurer gave her report. The garden day was "
            "planned. There was no other business.\n"
        )
    (folder / "bins.txt").write_text(
        "Waste collection in Dunholm\n\nGrey bins are emptied on Wednesdays, green bins every "
        "second Friday.\n"
    )
    (folder / "plumber.txt").write_text(
        "Dear Mr Ashby,\n\nthe boiler at 8 Quay Road needs a new valve. I can come on 2 May 2025 "
        "and would charge £140 for it.\n\nKind regards,\nD. Pell, plumber\n"
    )
