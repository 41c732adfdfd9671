"""The steps that workflows are made of, one idea per file."""
