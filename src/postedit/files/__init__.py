"""Translation files (XLIFF, TMX and PO) as units whose targets can be replaced while all other bytes stay the same."""
