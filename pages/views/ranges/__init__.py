"""Why a tree: one range, three ways."""
