"""What the editor is made of: requests, searches over texts, windows of segments, corrections."""
