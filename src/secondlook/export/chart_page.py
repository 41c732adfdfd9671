"""A chart as a page of its own that needs no network: Plotly's script is part of it."""

from __future__ import annotations

import html
import json
import re
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from secondlook.errors import UsageError

if TYPE_CHECKING:
    from secondlook.answer import AnalysisFigure

_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; \
script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:; \
worker-src blob:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
</head>
<body>
{body}
</body>
</html>
"""
_PLOT = """\
<div id="chart" style="width:100%;height:96vh"></div>
<script>{script}</script>
<script>
const figure = {figure};
Plotly.newPlot("chart", figure.data || [], figure.layout || {{}}, {{responsive: true}});
</script>"""

_LINK = re.compile(r"<(?=\s*/?\s*a\b)", re.IGNORECASE)


def page_of(figure: AnalysisFigure) -> str:
    title = html.escape(figure.title or "Chart")
    if figure.kind == "png":
        source = html.escape(str(figure.data), quote=True)
        picture = f'<img alt="{title}" src="data:image/png;base64,{source}">'
        return _PAGE.format(title=title, body=picture)
    body = _PLOT.format(script=_plotly_script(), figure=in_script(figure.data))
    return _PAGE.format(title=title, body=body)


def in_script(data: object) -> str:
    """JSON that cannot end the script that it stands in, whatever a cell holds; Plotly would make
    links of labels."""
    written = _LINK.sub("&lt;", json.dumps(data, ensure_ascii=True))
    return written.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _plotly_script() -> str:
    """Out of the installed package, which is not imported for it."""
    found = find_spec("plotly")
    place = found.origin if found is not None else None
    file = Path(place).parent / "package_data" / "plotly.min.js" if place else None
    if file is None or not file.is_file():
        raise UsageError(
            "a chart as a page needs Plotly, which is not installed",
            hint="pip install 'secondlook[analyst]', or save the chart as .json",
        )
    return file.read_text("utf-8").replace("</script", "<\\/script")
