"""Units and currencies that headers name."""

from __future__ import annotations

import pytest

from secondlook.tables.joins import Said, hard_to_tell_apart, name_words, read_header


@pytest.mark.parametrize(
    ("header", "unit", "currency"),
    [
        ("Price (EUR)", None, "EUR"),
        ("price_eur", None, "EUR"),
        ("Revenue (USD millions)", "millions", "USD"),
        ("Sales ($M)", "millions", "USD"),
        ("Umsatz (k€)", "thousands", "EUR"),
        ("cost [€/kg]", "€/kg", "EUR"),
        ("$ amount", None, "USD"),
        ("amount £", None, "GBP"),
        ("salary_in_thousands_of_dollars", "thousands", "USD"),
        ("Population (thousands)", "thousands", None),
        ("weight_kg", "kg", None),
        ("weightKg", "kg", None),
        ("wind speed [m/s]", "m/s", None),
        ("density (kg/m^3)", "kg/m^3", None),
        ("energy (kWh per day)", "kWh per day", None),
        ("area_m2", "m2", None),
        ("height_m", "m", None),
        ("temp_c", "°C", None),
        ("duration_s", "s", None),
        ("% change", "%", None),
        ("pct_growth", "%", None),
        ("share (percent)", "%", None),
        ("age_years", "years", None),
        ("speed (km/h)", "km/h", None),
    ],
)
def test_a_header_names_its_unit(header: str, unit: str | None, currency: str | None) -> None:
    assert read_header(header) == Said(unit, currency)


@pytest.mark.parametrize(
    "header",
    [
        "Name",
        "Name (first)",
        "days",
        "try",
        "temp_min",
        "vitamin_c",
        "Group (A/B test)",
        "model_t",
        "",
        "()",
        "Note (see below)",
        "year",
        "checked_in",
        "size (M)",
    ],
)
def test_other_headers_name_none(header: str) -> None:
    assert read_header(header) == Said()


@pytest.mark.parametrize(
    "name", ["customer_id", "customerID", "CustomerId", "CUSTOMER ID", "customer.id"]
)
def test_words_of_a_name(name: str) -> None:
    assert name_words(name) == ["customer", "id"]


def test_words_of_other_scripts() -> None:
    assert name_words("Größe_Straße 2") == ["größe", "straße", "2"]
    assert name_words("価格_円") == ["価格", "円"]


def test_headers_that_differ_in_little() -> None:
    names = ["Total", "total ", "TOTAL.1", "sub_total", "Sub Total", "other", "---", "!!!"]
    assert hard_to_tell_apart(names) == [
        ("Total", "total ", "TOTAL.1"),
        ("sub_total", "Sub Total"),
    ]
