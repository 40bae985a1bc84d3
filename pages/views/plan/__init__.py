"""Views of the page Release plan."""
