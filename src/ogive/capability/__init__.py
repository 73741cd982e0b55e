"""Up to what difficulty a classifier can be trusted, and which cases go to people."""
