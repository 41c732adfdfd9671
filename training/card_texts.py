"""The sentences of the cards. What can change with a model stands in braces."""

READER = """# {name}, int8

One encoder reads a question and a passage together and says how relevant the passage is, where in
it the answer stands, whether it answers the question at all and, with a sentence in the question's
place, whether the passage supports that sentence.

{facts}

Input is `[CLS]` question `[SEP]` passage `[SEP]`, WordPiece, lower case, type 1 on the passage's
tokens alone. Each pass holds one pair: nothing is padded and there is no mask. `start` and `end`
are logits over the tokens, token 0 means "no answer here"; the others are one logit each. Weights
are int8 with one scale per output column, word vectors one per row, heads float32.

## Intended use

Ranking passages that a search found, taking a short answer out of them, deciding whether they
answer at all, and checking whether a sentence follows from a passage: on a plain processor, without
a language model. Scores are logits. Only the calibration that names this reader's identity turns
them into probabilities.

## Trained from

The encoder of gte-small (Li et al. 2023, arXiv:2308.03281; 12 layers, 33M parameters, MIT).

## Trained on

{sets}

Negatives were mined by {mine} (`training.prepare --mine`). No text of a test set is trained on: all
of them are compared by sentence (`training/data/leakage.py`).

## How

`python -m training.make reader` with the recipe in `recipe.json` beside this card. A run that is
taught learns from the labels and from the mean of what its teachers say. The last run is kept.

{runs}

## Figures

Beside reader-12, which was trained on SQuAD 1.1 alone, both decoded in the same way in the same run
(`docs/models.md` says what each set is):

{figures}

{listed}

{held_out}
"""

READER_LIMITS = """
## Limits

- English. In other languages scores mean nothing; the product withholds its confidence there.
- A question of at most 64 tokens, 384 tokens in all; longer passages are read in overlapping
  windows.
- Short answers that stand in the passage word for word. No counting, comparing or joining of facts
  from several passages.
- Trained on encyclopedia articles, some reviews, sentences of inference sets, and invented everyday
  documents. In other fields do not let it decide an order alone, and calibrate on your own
  questions (`secondlook calibrate`).
- A sentence counts as supported by what one passage says, not by what is true.

## Licence

The base is under the MIT licence. Most training text is under CC BY-SA, and so are these weights
where such terms reach them (`LICENSES/` in the distribution holds both texts).
"""

EMBEDDER = """# {name}, int8

Turns a text into a vector of unit length; the dot product of two is their similarity.

{facts}

Input is `[CLS]` text `[SEP]`, WordPiece, lower case; texts of one pass have equal length, there is
no mask. The vector is the mean over all tokens. No prefix for passages or questions.

## Trained from

`thenlper/gte-small` (BERT, 12 layers, 33M parameters, MIT), from a dynamic int8 export. Paper: Li
et al., Towards General Text Embeddings with Multi-stage Contrastive Learning, 2023,
arXiv:2308.03281, which names the data it was trained on.

## Trained on

Questions with the passages that answer them, and wrong passages that search by words finds: SQuAD
1.1 (CC BY-SA 4.0) in two of five rows, HotpotQA (CC BY-SA 4.0) in one of twenty, and invented
everyday documents (`training/files`, Apache-2.0) in the rest. `training/data` reads them; the
reader's card names each with its source. Passages of a question that are nearly the same count
neither way.

## How

`python -m training.make embedder`: 1,403 steps of 164 thousand tokens on one NVIDIA H200 (3.6
minutes), a contrastive loss over all questions of a step, and a weighted mean with gte-small (.7 to
.3) so that what was known is not lost. Matrices are int8 with one scale per output column, word
vectors with one per row; activations are uint8, one scale per pass.

## Figures

`training/README.md` compares it with gte-small on held-out documents, `docs/results.md` on other
sets.

## Intended use

Finding passages about a question in English. Combine it with a lexical search for exact numbers and
names; it does not judge whether a passage answers.

## Limits

- English; other languages work poorly.
- What a text says after its first 512 tokens is not seen.

## Licence

The base is under the MIT licence. Most training text is under CC BY-SA, and so are these weights
where such terms reach them (`LICENSES/` in the distribution holds both texts).
"""
