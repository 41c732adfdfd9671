"""The composition root: settings become services, a question becomes a run."""

from secondlook.app.doors import aask, ask, astream
from secondlook.app.secondlook import Secondlook

__all__ = ["Secondlook", "aask", "ask", "astream"]
