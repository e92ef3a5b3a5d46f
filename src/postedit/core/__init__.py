"""Types, the model interface, configuration, registry and errors, which all other packages may import."""
