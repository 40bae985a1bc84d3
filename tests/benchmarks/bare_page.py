"""The floor of row 2: a Streamlit page with one slider and one figure of 500 points."""

import numpy as np
import plotly.graph_objects as go
import streamlit as st

x = np.linspace(0.0, 10.0, 500)
turns = st.slider("Turns", 0, 100, 5, key="turns")
st.plotly_chart(go.Figure(go.Scatter(x=x, y=np.sin(turns * x))), key="figure")
