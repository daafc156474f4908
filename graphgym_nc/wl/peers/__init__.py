"""Networks of the systems that NC-GNN is compared with, which embed graphs by structure alone."""
