"""Cleaning of triplets and parallel text: filters, each of which says why it takes what it takes, and normalisation."""
