"""Networks of other systems that embed graphs by their structure alone."""
