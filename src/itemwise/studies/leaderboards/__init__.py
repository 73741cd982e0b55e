"""Who leads, how surely, and who cannot be told apart."""
