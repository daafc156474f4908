"""The systems that NC-GNN is compared with, as networks that embed graphs by their structure."""
