"""Tuning: weights of a log-linear model over n-best lists, so that what comes out on top scores best."""
