"""`treedp run`: a sweep or a notebook without a browser."""
