"""What stands around every page: navigation, sidebar, and the app’s own script."""
