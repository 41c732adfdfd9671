"""What a header says beside its name: a unit, a currency; and which are hard to tell apart."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


SIGNS = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "₽": "RUB", "₩": "KRW"}
CODES = _words(
    """
    EUR USD GBP CHF JPY CNY INR CAD AUD NZD SEK NOK DKK PLN CZK HUF BRL MXN ZAR KRW SGD HKD TWD
    THB IDR MYR PHP VND ILS AED SAR TRY RUB UAH RON BGN ISK ARS CLP COP PEN EGP NGN KES PKR BDT
    LKR MAD TND QAR KWD
    """
)
"""ISO 4217. In brackets, and in capitals, they are currencies."""
PLAIN_CODES = _words(
    """
    eur usd gbp chf jpy cny inr cad aud nzd sek nok dkk pln czk huf brl mxn zar krw sgd hkd
    """
)
"""Those that are no English words: they count in small letters too, as in `price_eur`."""
CURRENCY_WORDS = {
    "euro": "EUR",
    "euros": "EUR",
    "dollar": "USD",
    "dollars": "USD",
    "yen": "JPY",
    "rupees": "INR",
}
SCALES = {
    "k": "thousands",
    "thousand": "thousands",
    "thousands": "thousands",
    "000": "thousands",
    "000s": "thousands",
    "'000": "thousands",
    "m": "millions",
    "mn": "millions",
    "mio": "millions",
    "million": "millions",
    "millions": "millions",
    "bn": "billions",
    "billion": "billions",
    "billions": "billions",
}
UNITS = _words(
    """
    % ‰ ppm ppb mm cm m km mi ft in inch inches yd nm µm um mg g kg t lb lbs oz µg ug s ms µs us
    ns sec secs second seconds min mins minute minutes h hr hrs hour hours day days week weeks
    month months year years yr yrs l ml cl dl hl gal mph kmh kph kn knots rpm hz khz mhz ghz °c
    °f k celsius fahrenheit kelvin pa hpa kpa mpa bar mbar psi atm w kw mw gw kwh mwh wh j kj mj
    cal kcal v mv kv a ma ah mah ohm ω n kn nm b kb mb gb tb kib mib gib bit bits byte bytes db
    dba px dpi m2 m3 km2 cm2 cm3 m² m³ km² cm² cm³ ha acre acres sqft sqm sqkm cc hp bhp mol
    mmol ° deg degrees rad lux lm cd bpm mmhg g/dl mg/dl mmol/l pct percent persons people units
    pieces pcs miles kilometers kilometres meters metres feet pounds kilograms grams liters
    litres gallons mpg
    """
)
ENDINGS = _words(
    """
    mm cm km mi ft kg mg lb lbs oz ms secs seconds mins minutes hrs hours days weeks months
    years yrs ml mph kmh kph rpm hz khz mhz ghz celsius fahrenheit kelvin hpa kpa mbar psi kw
    kwh mwh mw gw kj kcal mb gb tb kb bytes db px m2 m3 km2 sqft sqm ha acres miles kilometers
    kilometres meters metres feet pounds kilograms grams liters litres gallons mpg bpm pct
    percent ppm
    """
)
"""Units that a name may end in without brackets: `weight_kg`. Others are too often something
else."""
ONE_LETTER = frozenset("%‰°mgtshlLWVKJN")
"""As they are written: `size (M)` is no length."""
BY_QUANTITY = {
    "temperature temp tmin tmax": {"c": "°C", "f": "°F", "k": "K"},
    "height length distance width depth altitude elevation dist radius diameter visibility": {
        "m": "m",
        "in": "in",
    },
    "weight mass": {"g": "g", "t": "t"},
    "time duration elapsed latency runtime delay": {"s": "s", "sec": "s", "min": "min", "h": "h"},
    "volume capacity": {"l": "l"},
    "power": {"w": "W"},
    "voltage": {"v": "V"},
    "current": {"a": "A"},
    "energy": {"j": "J", "wh": "Wh"},
    "pressure": {"pa": "Pa", "bar": "bar"},
    "speed velocity": {"ms": "m/s", "kn": "kn"},
}
"""Short units that only mean one after the name of what they measure."""
PERCENT = frozenset({"pct", "percent", "percentage", "%"})
_BRACKETS = re.compile(r"[(\[{]([^()\[\]{}]{1,24})[)\]}]")
_HUMPS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORDS = re.compile(r"[^\W\d_]+|\d+|[%°²³]")
_PER = re.compile(r"\s*(?:/|\bper\b)\s*")
_POWER = re.compile(r"(\^?-?[0-9]|[²³])$")


@dataclass(frozen=True, slots=True)
class Said:
    unit: str | None = None
    currency: str | None = None


def read_header(name: str) -> Said:
    """Brackets are believed first, then signs, then the last word."""
    for inside in reversed(_BRACKETS.findall(name)):
        said = _inside(inside.strip())
        if said.unit or said.currency:
            return said
    words = name_words(name)
    currency = _currency(name, words)
    return Said(_scale(words) if currency else _unit(name, words), currency)


def name_words(name: str) -> list[str]:
    """`customerID` and `customer_id` are both `customer`, `id`."""
    return [word.lower() for word in _WORDS.findall(_HUMPS.sub(" ", name))]


def _inside(inside: str) -> Said:
    """Of brackets: `EUR`, `m/s`, `USD millions`, `€/kg`, `in thousands`."""
    parts = [part for part in re.split(r"[\s,.]+", inside) if part.lower() != "in"]
    currency = next(filter(None, map(_money, parts)), None)
    others = [part for part in parts if not _money(part)]
    scale = next((SCALES[part.lower()] for part in others if part.lower() in SCALES), None)
    if currency:
        return Said(scale, currency)
    per_money = _money(_PER.split(inside)[0])
    if per_money and "/" in inside:
        return Said(inside, per_money)
    stuck = _stuck(inside)
    if stuck:
        return stuck
    if is_unit(inside):
        return Said("%" if inside.lower() in PERCENT else inside)
    return Said(scale if scale and inside.lower() not in {"k", "m"} else None)


def _stuck(inside: str) -> Said | None:
    """A sign and a scale in one: `$M`, `k€`."""
    for sign, code in SIGNS.items():
        rest = inside.replace(sign, "").strip().lower()
        if sign in inside and rest in SCALES:
            return Said(SCALES[rest], code)
    return None


def _money(word: str) -> str | None:
    if word in SIGNS:
        return SIGNS[word]
    if word in CODES or word.lower() in PLAIN_CODES:
        return word.upper()
    return CURRENCY_WORDS.get(word.lower())


def is_unit(text: str) -> bool:
    """One unit, or a product or quotient of them: `kg`, `m/s`, `kg/m^3`, `kWh per day`."""
    parts = [part.strip() for part in re.split(r"[/*·]|\bper\b", text)]
    return all(_one_unit(part) for part in parts)


def _one_unit(part: str) -> bool:
    lower = part.lower()
    if len(part) == 1:
        return part in ONE_LETTER
    return lower in UNITS or (bool(lower) and _POWER.sub("", lower) in UNITS)


def _currency(name: str, words: Sequence[str]) -> str | None:
    for sign, code in SIGNS.items():
        if sign in name:
            return code
    for word in (*words[-1:], *words[:1]):
        if word in PLAIN_CODES:
            return word.upper()
        if word in CURRENCY_WORDS:
            return CURRENCY_WORDS[word]
    return None


def _scale(words: Sequence[str]) -> str | None:
    return next((SCALES[word] for word in words if word in SCALES and len(word) > 1), None)


def _unit(name: str, words: Sequence[str]) -> str | None:
    if "%" in name or PERCENT.intersection(words):
        return "%"
    if len(words) < 2:  # noqa: PLR2004  # `days` alone is a name
        return None
    *before, last = _joined(words)
    if last in ENDINGS:
        return last
    for quantities, units in BY_QUANTITY.items():
        if last in units and set(quantities.split()).intersection(before):
            return units[last]
    return None


def _joined(words: Sequence[str]) -> list[str]:
    """`area_m2` was taken apart at its digit; `speed_km_h` means km/h."""
    *before, last = words
    joined = f"{before[-1]}{last}"
    if joined in ENDINGS and len(before) > 1:
        return [*before[:-1], joined]
    return list(words)


def hard_to_tell_apart(names: Sequence[str]) -> list[tuple[str, ...]]:
    """Headers that differ in case, blanks, punctuation or a number of repetition only."""
    alike: dict[str, list[str]] = defaultdict(list)
    for name in names:
        bare = re.sub(r"\.\d+$", "", name)
        alike["".join(filter(str.isalnum, bare.casefold()))].append(name)
    return [tuple(group) for plain, group in alike.items() if plain and len(group) > 1]
