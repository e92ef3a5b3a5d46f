"""Transformer inference with 8-bit weights on a CPU; not part of the reading path.

`nn.inference.prepare_for_inference` is the only user: it puts `Int8TransformerStack` and `Int8Linear` in place of
layers of a model. Models, search and editing know nothing of this package. It is imported only when int8 is used,
because the import loads compiled kernels. Its modules, from the outside in:

    modules            PyTorch modules that take the place of a model's layers
    fused_layers       kernels for whole stacks of layers
    paged_attention    attention to keys and values in pages
    paged_cache        the pages
    integer_products   matrix products of bytes
    epilogues, simd    vector kernels, and the LLVM code that they are built from

See ADR 27 for the reasons and the measurements.
"""

from postedit.nn.int8.modules import Int8Linear, Int8TransformerStack

__all__ = ["Int8Linear", "Int8TransformerStack"]
