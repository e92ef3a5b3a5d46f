"""Resumable jobs on large line-aligned text: in this process, in worker processes, or in a Ray cluster.

A `ChunkSource` yields chunks of aligned lines, a `Stage` turns one chunk into another, an `Executor` runs stages, and
`ResumableOutputs` writes the results in order. `pipeline.run_job` connects the four; none of them knows the others.
"""
