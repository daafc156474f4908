"""The systems that NC-GNN is compared with, as layers and models for any PyG user."""
