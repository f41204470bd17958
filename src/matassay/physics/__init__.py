"""Physics that two instruments share; what one alone needs lives in its own folder."""
