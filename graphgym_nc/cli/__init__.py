"""Command lines: arguments, and nothing else. Imports everything."""
