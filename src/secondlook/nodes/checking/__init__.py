"""Whether a draft stands on its evidence, and whether it addresses the question: the judges."""
