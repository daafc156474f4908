"""Small tools that know nothing of graphs: for processes, cores, files, memory,
gradients, packaged configurations, tables and figures.

Imports nothing else of this package.
"""
