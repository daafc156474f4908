"""Measures what NC-GNN costs, side by side with GIN: see :obj:`run/benchmark.py`."""
