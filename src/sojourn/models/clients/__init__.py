"""Clients over the official SDKs, one per protocol; each SDK is imported on first use (A-1)."""
