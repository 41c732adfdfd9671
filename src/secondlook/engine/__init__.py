"""The composition root: settings become services, a question becomes a run."""
