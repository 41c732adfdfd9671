"""The HTTP face: parses a request, calls `app` or a library, presents what came of it.

`api.server.create_app` joins the routers. Nothing here decides what an answer is.
"""
