"""The command line, one file per verb. Verbs import heavy modules only when they run, so that `--help` is quick."""
