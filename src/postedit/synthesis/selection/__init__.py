"""Selection of training data: text of a domain, triplets that resemble real ones, and mixtures of corpora."""
