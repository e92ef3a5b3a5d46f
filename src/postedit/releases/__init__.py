"""Models that are had by their language pair: which there are, where they are, and how they are fetched."""
