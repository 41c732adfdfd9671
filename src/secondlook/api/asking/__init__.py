"""Questions over HTTP: runs that wait, go on, are watched, stopped and resumed."""
