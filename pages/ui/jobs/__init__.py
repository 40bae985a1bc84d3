"""Work in processes of their own: turns, room, and what is asked of them."""
