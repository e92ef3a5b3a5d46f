"""Triplets in files, memory-mapped corpora of ids, and batches."""
