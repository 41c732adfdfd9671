"""Whether runs are told to OpenTelemetry, and where. A folder's own file sets none of it."""

from __future__ import annotations

from pydantic import Field

from secondlook.settings.section import Section


class TelemetrySettings(Section):
    enable: bool = Field(
        default=False,
        description="Tell runs, nodes and model calls to OpenTelemetry; needs the extra "
        "`telemetry`.",
    )
    endpoint: str | None = Field(
        default=None,
        pattern=r"^https?://[^\s/]+",
        description="Collector that takes OTLP over HTTP; none = the providers that the program "
        "has set up itself.",
    )
    service_name: str = Field(
        default="secondlook", min_length=1, description="What this program is called there."
    )
