"""What runs leave behind: records, statistics, their averages over seeds and grids.

Imports :mod:`~graphgym_nc.utils`.
"""
