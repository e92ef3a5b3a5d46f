"""Triplets by translation: from parallel text or monolingual text and a translator, or from an error model."""
