"""The command line, with one module per verb. Heavy modules are imported only when a verb runs, so `--help` is fast."""
