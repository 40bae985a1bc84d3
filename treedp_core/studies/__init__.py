"""The numbers behind each page; no page knows more."""
