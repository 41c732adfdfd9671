"""What the steps of a research share: what was shown, how sure a step is, how it is told."""
