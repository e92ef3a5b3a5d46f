"""Scores of translations, each with its signature and beside the score of the unedited MT."""
