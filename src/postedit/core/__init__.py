"""Types, the model interface, configuration, registry and errors: what everything else may import."""
