"""Resumable jobs on large line-aligned text, and the executor that works in a Ray cluster.

A `ChunkSource` yields chunks of aligned lines, a `Stage` turns one chunk into another, an `Executor` runs stages, and
`ResumableOutputs` writes the results in order. `pipeline.run_job` connects the four; none of them knows the others.
Executors work on items of any kind: windows of lines to edit, blocks of triplets to clean, files to read.
"""
