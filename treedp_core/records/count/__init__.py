"""Batches counted on a public domain."""
