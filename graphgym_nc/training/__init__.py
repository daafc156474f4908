"""One run: its data, model, training, checkpoints and statistics.

Imports :mod:`~graphgym_nc.graphgym` and what that imports.
"""
