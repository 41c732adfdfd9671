"""Generated code: taken out of a reply, checked before it runs, and tried on changed data."""
