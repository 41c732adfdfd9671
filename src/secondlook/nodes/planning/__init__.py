"""What a research looks into next, and in which words it searches for it."""
