#!/bin/sh
# For macOS: a double click opens the page. Once: chmod +x Secondlook.command
exec "${SECONDLOOK:-$HOME/.local/bin/secondlook}" serve
