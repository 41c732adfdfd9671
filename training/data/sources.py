"""Where each training set comes from and under which licence it may be used."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Source:
    name: str
    published: str
    """Authors, year and the public place."""
    licence: str


ORIGINAL = "as stated by its authors"
SOURCES = {
    "squad": Source(
        "SQuAD 1.1, training part",
        "Rajpurkar et al. 2016, rajpurkar.github.io/SQuAD-explorer",
        "CC BY-SA 4.0",
    ),
    "hotpot": Source(
        "HotpotQA, development part without the questions and gold passages used for testing",
        "Yang et al. 2018, hotpotqa.github.io",
        "CC BY-SA 4.0",
    ),
    "subjqa": Source(
        "SubjQA, opinions in reviews",
        "Bjerva et al. 2020, github.com/megagonlabs/SubjQA",
        ORIGINAL,
    ),
    "halueval": Source(
        "HaluEval, questions and answers",
        "Li et al. 2023, github.com/RUCAIBox/HaluEval",
        "MIT",
    ),
    "snli": Source(
        "SNLI, 100,000 pairs of the training part",
        "Bowman et al. 2015, nlp.stanford.edu/projects/snli",
        "CC BY-SA 4.0",
    ),
    "cad_snli": Source(
        "Counterfactual SNLI",
        "Kaushik et al. 2020, github.com/acmi-lab/counterfactually-augmented-data",
        ORIGINAL,
    ),
    "mnli": Source(
        "MultiNLI, development part",
        "Williams et al. 2018, cims.nyu.edu/~sbowman/multinli",
        ORIGINAL,
    ),
    "fever": Source("FEVER with its evidence", "Thorne et al. 2018, fever.ai", "CC BY-SA 3.0"),
    "rte": Source(
        "RTE, training part",
        "Dagan et al. 2006 and later years, in GLUE (Wang et al. 2019)",
        ORIGINAL,
    ),
    "scitail": Source(
        "SciTail, development part", "Khot et al. 2018, allenai.org/data/scitail", ORIGINAL
    ),
    "own": Source(
        "Sentences of SQuAD passages, true, reworded, or with one thing changed by code",
        "training/data/claims.py",
        "CC BY-SA 4.0, as the passages",
    ),
    "files": Source(
        "Documents as people keep them, invented and filled in by code, with their questions",
        "training/files",
        "Apache-2.0, as this project",
    ),
}
