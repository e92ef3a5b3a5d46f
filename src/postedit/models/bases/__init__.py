"""Models that several architectures share but for one part."""
