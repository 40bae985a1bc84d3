"""What a visitor has of this process: a session, files on their way in and out, what Streamlit does not document."""
