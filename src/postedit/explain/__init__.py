"""Explanations of outputs: word differences, evidence at word level, and a page that shows both."""
