"""TreeDP in the browser: the application a server imports, and the script that Streamlit runs for every view."""

if __name__ == "__main__":  # Streamlit runs it: read the link, configure the page, and hand over to the router
    from pages.ui import router as boot
    from pages.ui import settings as params
    from pages.ui.sidebar import link_problems, sidebar

    refused = params.hydrate()
    boot.configure()
    link_problems(refused)
    boot.run_router(sidebar)
else:  # the server imports it
    from streamlit.starlette import App

    from pages.ui.serving import MIDDLEWARE, lifespan, uncaught

    app = App(__file__, middleware=MIDDLEWARE, lifespan=lifespan, on_script_error=uncaught)
