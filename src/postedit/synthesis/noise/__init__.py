"""Triplets by noise: post-edits corrupted with the TER edits that real machine translations need."""
