"""Results as a browser asks for them: what lies at some paths, item by item, while it grows."""
