"""Between the network and Streamlit: who may ask, headers, and a class with its word."""
