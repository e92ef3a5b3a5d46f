"""Cleaning of triplets and parallel text: filters that give a reason for each removed triplet, and normalisation."""
