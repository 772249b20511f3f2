"""Fits and predictions of tables larger than memory: Parquet, Arrow and Feather files, read some rows at a time."""
