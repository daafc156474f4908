"""A grid as a job array of SLURM."""
