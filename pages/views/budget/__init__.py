"""How the budget is split."""
