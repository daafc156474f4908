class GridError(ValueError):
    """A grid that cannot be read, or makes no sense."""
