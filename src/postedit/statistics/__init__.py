"""What a corpus of triplets is like: lengths, edits, repetitions, and what it shares with dev and test sets."""
