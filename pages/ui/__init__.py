"""What the pages share: parameters, state, jobs and the frame around every page; the only reusable Streamlit code."""
