"""Command lines: arguments, and nothing else. Imports everything.

``graphgym-nc NAME ...`` calls the :obj:`main` of the module with this name.
"""
