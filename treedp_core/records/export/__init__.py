"""Records written out: synthetic ones, and cells safe for spreadsheets."""
