"""What the steps of an analysis share: the tables as a model is shown them, outcomes that are too
long for the state, what a question needs by rules, and how sure a result is."""

from __future__ import annotations
