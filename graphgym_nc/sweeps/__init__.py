"""Many runs: grids of configurations, and the jobs of one on this machine or on SLURM.

Imports :mod:`~graphgym_nc.graphgym`, :mod:`~graphgym_nc.results` and what these import,
but not :mod:`~graphgym_nc.training`: a run is a process of its own.
"""
