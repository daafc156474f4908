"""What runs leave behind: records, statistics, their averages over seeds and sweeps.

Imports :mod:`~graphgym_nc.utils`.
"""
