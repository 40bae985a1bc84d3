"""Which tree: the branching factor in the limit, the best whole shapes for K bins, the paper's statements on both."""
