"""Planning: how many items and epochs a comparison needs."""
