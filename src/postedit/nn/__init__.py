"""Layers that architectures are assembled from.

The suffix of a tensor's name gives its dimensions, in order:

    N rows, K target tokens of this call (queries), S positions of a stream (keys), L positions held in a cache,
    D model width, H heads, G groups of heads that share keys, E width of a head, C width of an annotation,
    A width of additive attention, V vocabulary, M real target positions.
"""
