"""The words of the sample documents. All of it is invented: town, people, firms and figures.

Some facts stand in two documents and differ, as they do in life: the depth at berth 4, the cost of
dredging, the number of calls in 2023. `questions.json` beside this file says which.
"""

# ruff: noqa: E501, INP001 - a paragraph is a line

SURVEY_TITLE = "Halvermouth Harbour Survey 2024"
SURVEY_AUTHOR = "Ingrid Solberg"
SURVEY: list[list[tuple[str, str]]] = [
    [
        ("title", SURVEY_TITLE),
        ("text", "Prepared for the Halvermouth Harbour Trust by Solberg Hydrographics. Field work: 4 to 22 March 2024. Report: 17 May 2024. Lead surveyor: Ingrid Solberg."),
        ("heading", "Summary"),
        ("text", "The harbour of Halvermouth was surveyed for the first time since 2016. Both quays, the inner basin, the approach channel and the breakwater were measured. The harbour is safe for its present traffic, but it is silting up faster than in the decade before: on average 11 centimetres a year in the inner basin, against 7 centimetres a year between 2006 and 2016."),
        ("text", "Three things need attention. The inner basin should be dredged before the winter of 2025. The armour of the breakwater has lost 46 blocks at its head and should be repaired in the same campaign. The ladder at berth 6 is corroded and was closed by the survey team on 12 March 2024."),
        ("text", "All depths in this report are given in metres below chart datum, which at Halvermouth lies 2.10 metres below mean sea level."),
    ],
    [
        ("heading", "Depths at the north quay"),
        ("text", "The north quay has four berths and takes coasters and the ferry to Lessing Island. It was built in 1931 and lengthened to 212 metres in 1974. The shallowest sounding along each berth counts, not the mean."),
        ("row", "Berth|Length in metres|Depth in 2016|Depth in 2024"),
        ("row", "1|48|6.4|5.9"),
        ("row", "2|52|6.6|6.1"),
        ("row", "3|54|7.3|6.8"),
        ("row", "4|58|8.4|7.8"),
        ("text", "Berth 4 remains the deepest berth of the harbour, at 7.8 metres, but has lost 60 centimetres in eight years. The ferry Marguerite, which draws 4.6 metres, lies at berth 1 and keeps 1.3 metres of water under her keel at the lowest tide."),
        ("text", "A rock with its top at 5.2 metres was found off berth 2, 14 metres from the eastern end of the quay. It is not on the chart of 2016 and has been reported to the chart office under the number HM-2024-07."),
    ],
    [
        ("heading", "South quay and breakwater"),
        ("text", "The south quay serves the fishing fleet. Berths 5 to 7 have depths of 4.1, 3.9 and 3.6 metres. The sheet piling is 9.5 millimetres thick where it was 12 millimetres when it was driven in 1988; at the present rate of corrosion it reaches its limit of 7 millimetres in about 2037."),
        ("text", "The breakwater is 640 metres long and consists of rock under concrete blocks of eight tonnes each. The drone survey of 9 March counted 46 blocks missing or displaced at the head and 5 along the outer face. Two storms are responsible for most of the damage, those of 31 October 2023 and 18 January 2024."),
        ("text", "The crest of the breakwater stands at 5.8 metres above chart datum. In the storm of October 2023 waves overtopped it for about five hours."),
    ],
    [
        ("heading", "Sediment"),
        ("text", "Fourteen cores were taken from the bed. The sediment of the inner basin is fine silt with 12 percent sand; in the approach channel it is medium sand. Since 2016 about 38,000 cubic metres have settled in the inner basin."),
        ("text", "Core 9, taken in front of the old boatyard, holds 0.9 milligrams of tributyltin per kilogram, which is above the limit of 0.1 for disposal at sea. The material around it, about 2,400 cubic metres, has to be brought ashore. The other thirteen cores are clean."),
        ("text", "Most of the silt comes from the river Aune. Its load has grown since the weir at Tolham was removed in 2018."),
    ],
    [
        ("heading", "Recommendations and cost"),
        ("text", "We recommend dredging 41,000 cubic metres from the inner basin to a depth of 6.5 metres, with a suction dredger and between October and March, outside the spawning season of the herring."),
        ("text", "We estimate the cost of dredging at 1.35 million crowns, of which 210,000 crowns are for the contaminated material near core 9. The repair of the breakwater head is estimated at 480,000 crowns."),
        ("text", "The survey should be repeated every four years, not every eight. A single line of soundings along the centre of the inner basin, once a year, would cost 9,000 crowns and show early whether the silting goes on."),
    ],
    [
        ("heading", "Annex: methods and accuracy"),
        ("text", "Depths were measured with a multibeam echo sounder at 400 kilohertz from the launch Petrel, with lines 15 metres apart. Sound speed was measured four times a day. Positions are from satellites with corrections from the station on Cape Varn and are good to 3 centimetres."),
        ("text", "The uncertainty of a single depth is 8 centimetres at 95 percent confidence. Tide was corrected with the gauge at the lifeboat slip, which was levelled on 5 March 2024 and found 2 centimetres low; the correction has been applied."),
        ("text", "The team were Ingrid Solberg, Tomas Reyl and Hanna Okafor. The data are kept at the Harbour Trust in its archive under HT/2024/113."),
    ],
]  # fmt: skip

HANDBOOK_TITLE = "Harbour Handbook for Skippers"
HANDBOOK_AUTHOR = "Office of the Harbour Master, Halvermouth"
HANDBOOK: list[tuple[str, str]] = [
    ("heading", "Before you arrive"),
    ("text", "Call the harbour office on VHF channel 12 at least thirty minutes before you pass the fairway buoy. Say the name of your vessel, her length and draught, the number of persons on board and how long you wish to stay. The office is manned from 06:00 to 22:00; at night the lighthouse on Cape Varn answers on channel 16."),
    ("text", "The approach channel is marked by four pairs of buoys and two leading lights in line at 284 degrees. Vessels over 60 metres must take a pilot; pilots are ordered two hours ahead from the pilot station at Tolham."),
    ("heading", "In the harbour"),
    ("text", "The speed limit is five knots in the approach channel and three knots inside the breakwater. The ferry to Lessing Island has right of way at all times."),
    ("text", "Berths are given out by the harbour master, Piet Aldous, and his deputy, Runa Vestergaard. North quay: berth 1 is kept for the ferry, berths 2 to 4 for coasters. South quay: berths 5 to 7 are for the fishing fleet. Visiting yachts go to the pontoon behind the lifeboat station, where there are 24 places."),
    ("heading", "Dues"),
    ("text", "A yacht pays 3.20 crowns per metre of length and night. Electricity and water are included; a shower token costs 2 crowns. Fishing vessels registered in Halvermouth pay 410 crowns a year. Coasters pay 0.38 crowns per gross ton for each call. Dues are paid at the office before you leave."),
    ("heading", "Storms"),
    ("text", "When the gauge at the lifeboat slip shows more than 4.6 metres above chart datum, or the wind is above force 9 from the east, the harbour master closes the harbour. Two red lights, one above the other, are shown at the head of the breakwater, and nobody enters or leaves. Double your lines and take in fenders from the pontoon side first."),
    ("heading", "Fuel and spills"),
    ("text", "Diesel is sold at the south quay from 07:00 to 18:00, not on Sundays. No petrol is sold in the harbour. If fuel gets into the water, stop the pump, call channel 12 at once and do not use detergent. The booms are in the yellow container beside berth 5 and take two people twelve minutes to lay. A spill that is reported at once costs nothing; one that is hidden costs up to 15,000 crowns."),
    ("heading", "Waste"),
    ("text", "Waste is taken in the green shed behind the fish market. Used oil goes into the marked drum, at most 20 litres per visit. Nets and ropes are collected on the first Tuesday of each month and sent to be recycled."),
    ("heading", "In an emergency"),
    ("text", "Call channel 16 or telephone 112. The lifeboat Constance is ready to leave within ten minutes. A defibrillator hangs at the door of the harbour office, a second one in the fish market. The meeting point is the car park of the chapel of Saint Brannoc."),
]  # fmt: skip

MINUTES = """\
---
title: Minutes of the Halvermouth town council, 11 June 2024
author: Dorothea Lindqvist, town clerk
date: 2024-06-11
---

# Minutes of the Halvermouth town council, 11 June 2024

Present: Mayor Amara Castellan, councillors Bram Oduya, Elsbeth Marr, Jonas Whitlock, Sofia Renner
and Yusuf Hale. Excused: councillor Greta Thorn. Clerk: Dorothea Lindqvist. The meeting was opened
at 18:30 and closed at 21:05.

## 1. Harbour survey

The harbour master, Piet Aldous, presented the survey of the harbour. He said that the deepest
berth, berth 4 at the north quay, now had 8.2 metres, and that the inner basin had lost more than
half a metre. Councillor Marr asked why the harbour had not been surveyed for eight years. The
mayor answered that the money had gone into the new fish market.

## 2. Dredging of the inner basin

The council approved up to 1.42 million crowns for the dredging of the inner basin, with five votes
to one. Councillor Whitlock voted against: he wanted to wait for a second offer. Work is to begin on
14 October 2024 and to end before 1 March 2025. Half of the sum comes from the reserve of the
Harbour Trust, the other half from a loan of the Provincial Bank at 3.1 percent over twelve years.

The contaminated silt near the old boatyard will be stored in the former brickworks at Tolham.
Councillor Renner asked for a fence and a sign, which was agreed.

## 3. Repair of the breakwater

Postponed to the meeting of 10 September 2024, as no offer had arrived. Until then nobody may walk
on the outer 80 metres of the breakwater.

## 4. Visiting yachts

The council discussed the complaint of the sailing club about the dues. It was decided by four votes
to two to leave them unchanged until the end of 2025. A second pontoon with 16 places will be
considered in the budget for 2026.

## 5. Bicycle path to Cape Varn

The path of 3.4 kilometres from the chapel of Saint Brannoc to the lighthouse will be paved in two
stages. The first stage costs 96,000 crowns; the contract went to Ferris & Daughters.

## 6. Other matters

The harbour festival takes place on 24 and 25 August 2024. Calls at the harbour in the past year
were given as 1,248. The next meeting is on 9 July 2024 at 18:30.
"""

REPORT = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Halvermouth Harbour Trust: Annual Report 2023</title>
<meta name="author" content="Halvermouth Harbour Trust">
<meta name="date" content="2024-02-29">
</head>
<body>
<nav><a href="#calls">Calls</a> <a href="#money">Money</a> <a href="#people">People</a></nav>
<main>
<h1>Annual Report 2023</h1>
<p>The Harbour Trust runs the harbour of Halvermouth on behalf of the town. It was founded in 1952,
has no shareholders and spends what it earns on the harbour.</p>
<h2 id="calls">Calls and cargo</h2>
<p>In 2023 there were 1,284 calls by commercial vessels, 6 percent more than in 2022. The port
handled 184,000 tonnes of cargo. Timber came first with 71,000 tonnes, followed by road salt with
38,500 tonnes and fish meal with 22,000 tonnes.</p>
<table>
<tr><th>Cargo</th><th>2022 (tonnes)</th><th>2023 (tonnes)</th></tr>
<tr><td>Timber</td><td>66,200</td><td>71,000</td></tr>
<tr><td>Road salt</td><td>41,000</td><td>38,500</td></tr>
<tr><td>Fish meal</td><td>19,800</td><td>22,000</td></tr>
<tr><td>Other</td><td>50,400</td><td>52,500</td></tr>
</table>
<p>The ferry Marguerite carried 96,400 passengers to and from Lessing Island, a record. She missed
31 crossings because of the weather, 12 of them in October.</p>
<h2>The fishing fleet</h2>
<p>The fleet has 37 boats, two fewer than the year before. They landed 4,120 tonnes, chiefly herring
and brown crab, worth 9.8 million crowns at the auction. The new fish market was opened on
6 May 2023 by the mayor; it cost 2.75 million crowns and its roof carries 310 square metres of
solar panels.</p>
<h2 id="money">Money</h2>
<p>The Trust took in 3.62 million crowns and spent 3.41 million, which leaves a surplus of
210,000 crowns. Dues of coasters were the largest source with 1.24 million crowns. The reserve stood
at 1.9 million crowns at the end of the year.</p>
<h2>The storm of 31 October</h2>
<p>The storm of 31 October 2023 was the worst in forty years. The gauge at the lifeboat slip reached
5.1 metres above chart datum at 22:40. Eleven boats were damaged and one, the Silver Tern, sank at
berth 7; she was raised on 8 November. Nobody was hurt. Insurance paid 388,000 crowns.</p>
<h2 id="people">People</h2>
<p>The Trust employs 23 people. Piet Aldous completed his tenth year as harbour master. Runa
Vestergaard joined as his deputy on 1 April. The chair of the Trust is Professor Leopold Anselm.</p>
</main>
<footer>Halvermouth Harbour Trust, Quay Street 1</footer>
</body>
</html>
"""

MAIL_SUBJECT = "Offer for dredging the inner basin, Halvermouth"
MAIL_FROM = "Katja Brandt <k.brandt@nordmole.example>"
MAIL_TO = "Piet Aldous <harbourmaster@halvermouth.example>"
MAIL_DATE = "Mon, 03 Jun 2024 09:12:00 +0200"
MAIL = """\
Dear Mr Aldous,

thank you for sending us the survey. We offer to dredge 41,000 cubic metres from the inner basin
for 1.386 million crowns, the contaminated silt near the old boatyard included. The price holds
until 31 August 2024.

We would use the suction dredger Mole IV, which draws 2.9 metres and pumps 450 cubic metres an
hour. We need the western half of the south quay for our pipes and one berth for a supply boat.
Work would take nineteen weeks with one week kept for bad weather. We work from 07:00 to 19:00 and
not on Sundays.

Two conditions: the rock off berth 2 must be marked with a buoy before we begin, and the Trust
has to name a person whom we can reach day and night. If we finish later than 1 March 2025 we pay
2,500 crowns for each day.

We have done similar work in Port Ellery in 2021 and in Sandvik in 2023 and can name people to ask.

Yours sincerely,
Katja Brandt
Nordmole Dredging, telephone 0555 0142
"""

LOG = """\
Cape Varn lighthouse: keeper's log, October and November 2023
Keeper: Osric Thane. Assistant: Lin Haruki.

28 October 2023
Wind south-east, force 4. Barometer 1008 hPa and falling slowly. Lamp changed, the spare one is the
last on the shelf. Counted 14 ships passing, two of them bound for Halvermouth.

29 October 2023
Wind east, force 6. Barometer 996 hPa. The fog signal was tested at noon: one blast of four seconds
every thirty seconds, as it should be. Wrote to the stores at Tolham for six lamps.

30 October 2023
Wind east, force 7 to 8. Barometer 984 hPa. Called the harbour office at 16:00 and advised them to
close. The coaster Brigid turned back to sea at 17:20 rather than try the entrance.

31 October 2023
Wind east, force 11, gusts of 68 knots at 22:15. Barometer 968 hPa, the lowest I have written down
in 22 years. The mains failed at 20:52; the diesel started after nine seconds and the light never
went out. Spray on the lantern, 41 metres above the sea. Lin saw the head of the breakwater covered
by every third wave.

1 November 2023
Wind north-east, force 7, easing. Two panes of the lantern cracked, on the east side. Mains back at
11:30. The diesel used 94 litres. One of the leading lights of the harbour is out, reported at 06:10.

2 November 2023
Wind north, force 3. Barometer 1003 hPa. A grey seal with a torn flipper lay on the landing; the
sanctuary at Lessing fetched her in the afternoon. Mended the hen house.

5 November 2023
Wind west, force 2. Glazier came from the town with two panes and took 640 crowns. The light was
dark for 35 minutes while he worked, announced to shipping the day before.

11 November 2023
Wind south-west, force 5. The six lamps came with the supply boat. Each lasts about 2,000 hours.
The light shows three white flashes every twenty seconds and is seen at 19 nautical miles.
"""

SHEETS: list[tuple[str, list[list[str | float]]]] = [
    (
        "Tides 2024",
        [
            ["Month", "Highest high water (m)", "Date of highest", "Lowest low water (m)", "Days above 4.6 m"],
            ["January", 4.87, "18 January 2024", 0.21, 2],
            ["February", 4.52, "11 February 2024", 0.18, 0],
            ["March", 4.61, "12 March 2024", 0.09, 1],
            ["April", 4.55, "9 April 2024", 0.12, 0],
            ["May", 4.38, "8 May 2024", 0.25, 0],
            ["June", 4.29, "6 June 2024", 0.31, 0],
        ],
    ),
    (
        "Berth use 2024",
        [
            ["Berth", "Calls January to June", "Nights occupied", "Largest vessel", "Length (m)"],
            ["1", 348, 0, "Marguerite", 44.5],
            ["2", 61, 88, "Brigid", 49.0],
            ["3", 74, 102, "Hedda Torsen", 51.8],
            ["4", 93, 117, "Aune Trader", 57.2],
            ["5", 402, 141, "Silver Tern", 18.4],
        ],
    ),
]  # fmt: skip
