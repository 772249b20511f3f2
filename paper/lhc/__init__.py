"""Two-track vertices at the LHC, Figures 3 and 4."""
