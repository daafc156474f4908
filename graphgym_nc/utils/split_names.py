"""The names of the splits, in their order."""

SPLITS = ('train', 'val', 'test')
