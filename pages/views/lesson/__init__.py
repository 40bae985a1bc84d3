"""The guided lesson."""
