"""Transformer layers with 8-bit weights for CPU inference."""
