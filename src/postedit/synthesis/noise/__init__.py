"""Triplets by noise: references corrupted by TER edits like those that real machine translations need."""
