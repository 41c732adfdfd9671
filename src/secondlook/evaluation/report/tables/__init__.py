"""The tables of a report as text in cells, whoever draws them."""
