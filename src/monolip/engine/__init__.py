"""Compiled kernels (numba): ordered evaluation, searches for broken promises, and training of tabular networks.

ordered           evaluate_ordered: one stated order of operations, the same bits in any batch
bfloat16          evaluate_bfloat16: the same in an emulated half precision
ulp_search        search_decreases: try to break a direction by one-ulp steps

architecture      Architecture: layers, sort groups, fan-in, form
losses            Loss: what is learned
problem           Problem: rows, slope intervals, loss and architecture; checked and copied once
training_options  TrainingOptions: the constants of the recipe
training          train: one network, with snapshots, early stopping, a time limit and a clean stop
members           train_members: several in threads
trainer           Trainer: one network, step by step

Modules that begin with an underscore are kernels and layouts. Networks are plain arrays: see trainer.NetworkArrays.
"""
