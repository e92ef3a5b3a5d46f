"""Tune the weights of log-linear models on n-best lists, for the TER or BLEU of the best outputs."""
