"""Tables: read from files, profiled, and asked, on DuckDB in a limited process of its own."""
