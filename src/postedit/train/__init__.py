"""Training: the loop, optimisers and schedules, validation, checkpoints that survive a kill, averaging."""
