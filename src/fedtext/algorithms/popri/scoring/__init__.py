"""How candidates get their scores: what a scoring releases, how wide that is, and what it makes of it."""
