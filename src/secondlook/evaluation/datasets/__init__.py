"""Evaluation sets: questions with what is known about their answers, and the documents to search.

Each form has a file of its own; docs/data.md describes them all.
"""

from secondlook.evaluation.datasets.evalset import EvalSet, Form, describe
from secondlook.evaluation.datasets.recognise import has_tables, load
from secondlook.evaluation.datasets.sampling import sample

__all__ = ["EvalSet", "Form", "describe", "has_tables", "load", "sample"]
