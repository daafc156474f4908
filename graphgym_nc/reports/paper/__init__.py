"""The tables of the paper, with our figures beside the published ones."""
