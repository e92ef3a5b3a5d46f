"""Scores of post-edited text, each with its signature and beside the score of leaving the translation alone."""
