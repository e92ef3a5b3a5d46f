"""Artificial triplets: text in, text like real post-edits out.

Four things that know nothing of each other make up the engine: a `Source` gives chunks of aligned lines, a `Stage`
turns one chunk into another, an `Executor` says where stages run, `Outputs` keeps what comes out.
`engine.run` joins them.
"""
