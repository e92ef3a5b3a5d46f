"""Translation files: XLIFF, TMX and PO as sequences of units whose targets can be changed byte by byte."""
