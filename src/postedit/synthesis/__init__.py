"""Artificial triplets for training: `noise`, `translation`, and `selection` of those that resemble real triplets.

Each kind of `[synth]` section is a `SynthConfig`, which lists its phases; `postedit.distributed` runs them.
"""
