RANKS = (1, 2)
