"""The HTTP service: editors, memories and projects behind one address."""
