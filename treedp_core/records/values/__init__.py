"""Values that rows have, such as amounts: read, kept by leaf, and added up once they are clipped."""
