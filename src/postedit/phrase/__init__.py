"""The phrase-based editor: statistical post-editing over an index of triplets."""
