"""Questions over tables in plain words, read without a model."""
