"""Files in, text out: every format, in worker processes that a bad file cannot take down."""
