"""Small tools that know nothing of graphs: processes, files, cores, memory.

Imports nothing else of this package.
"""
