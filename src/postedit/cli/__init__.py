"""The command line, one file a verb. Verbs import what is heavy only when they run, so that `--help` is quick."""
