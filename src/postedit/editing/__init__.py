"""Post-editing with neural models: segments, search over batches, results."""
