"""Words, subword vocabularies and edit scripts: from text to the ids a model reads, and back to text."""
