"""Long-running work with models: training runs, drafts, gates, explanations of whole files."""
