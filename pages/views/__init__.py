"""What the pages show: a folder a page, a file a view."""
