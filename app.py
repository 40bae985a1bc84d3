"""TreeDP in the browser: read the link, configure the page, and hand over to the router."""

from pages.ui import boot, params
from pages.ui.sidebar import link_problems, sidebar

refused = params.hydrate()
boot.configure()
link_problems(refused)
boot.run_router(sidebar)
