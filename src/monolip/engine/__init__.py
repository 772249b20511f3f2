"""Compiled kernels (numba): ordered evaluation, searches for broken promises, and training of tabular networks.

ordered           evaluate_ordered: one stated order of operations, the same bits in any batch
bfloat16          evaluate_bfloat16: the same in an emulated half precision
ulp_search        search_decreases: try to break a direction by one-ulp steps
adversarial_search  attack_directions: a billion pairs of four kinds of chains
integer_search    attack_integers, evaluate_carried: the same for fixed-point networks

architecture      Architecture: layers, sort groups, fan-in, form
losses            Loss: what is learned
row_source        RowSource: a table whose rows are made when asked for
problem           Problem: rows, slope intervals, loss and architecture; checked and copied once
training_options  TrainingOptions: the constants of the recipe
training          train: one network, with snapshots, early stopping, a time limit and a clean stop
members           train_members: several in threads
trainer           Trainer: one network, step by step
additive          fit_additive: the best additive function inside the slope intervals, where training starts
anchored          Anchored: training around such a start
judging           mean_loss: the loss of several members together

Modules that begin with an underscore are kernels and layouts. Networks are plain arrays: see trainer.NetworkArrays.
"""
