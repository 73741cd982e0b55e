"""The page and the app, from results alone."""
