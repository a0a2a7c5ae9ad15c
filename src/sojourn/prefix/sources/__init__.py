"""Where sections come from: the impure part of the prefix (P-4)."""
