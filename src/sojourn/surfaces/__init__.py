"""How people and programs reach Sojourn."""
