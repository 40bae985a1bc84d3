"""Two cells side by side: what differs between them, and both releases drawn on the same noise."""
