"""Memories of corrections, and editors that learn from them."""
