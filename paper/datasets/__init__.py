"""The data of Table 1: one loader a file, constrained columns by name, contents checked by a digest."""
