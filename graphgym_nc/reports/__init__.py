"""Tables and plots of results, and of data sets.

Imports :mod:`~graphgym_nc.results`, :mod:`~graphgym_nc.datasets` and what these import.
"""
