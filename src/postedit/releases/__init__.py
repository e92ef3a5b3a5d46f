"""Models that are named by their language pair: the catalogue, release files, and how they are fetched."""
