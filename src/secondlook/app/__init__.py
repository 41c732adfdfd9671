"""The composition root: settings become services, a question becomes a run."""

from secondlook.app.conversation import Conversation
from secondlook.app.doors import aask, ask, astream
from secondlook.app.secondlook import Secondlook

__all__ = ["Conversation", "Secondlook", "aask", "ask", "astream"]
