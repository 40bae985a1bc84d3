"""TreeDP in the browser: the application a server imports, and the script that Streamlit runs for every view."""

from pages import branching, budget, cdf, consistency, data, lab, multiplicative, start, topdown
from pages.ui import router

PAGES = router.declare(
    (
        start.PAGE, data.PAGE, lab.PAGE, branching.PAGE, cdf.PAGE, multiplicative.PAGE,
        budget.PAGE, consistency.PAGE, topdown.PAGE,
    )
)  # fmt: skip

if __name__ == "__main__":  # Streamlit runs it: read the link, configure the page, and hand over to the router
    from pages.ui import settings
    from pages.ui.page import configure
    from pages.ui.sidebar import link_problems, sidebar

    refused = settings.hydrate()
    configure()
    link_problems(refused)
    router.run(PAGES, sidebar)
else:  # the server imports it
    from streamlit.starlette import App

    from pages.ui.serving import MIDDLEWARE, lifespan, uncaught

    app = App(__file__, middleware=MIDDLEWARE, lifespan=lifespan, on_script_error=uncaught)
