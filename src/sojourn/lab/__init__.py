"""Replay of transcripts, comparison of strategies, the continuity measure, the demonstration."""
