"""One file per workflow; each reads like its diagram."""
