"""What runs take, told to OpenTelemetry and Prometheus. Off unless it is set, and then numbers
and names alone: no question, passage or answer leaves through here."""

from secondlook.telemetry.opening import observer_for
from secondlook.telemetry.port import SILENT, Observer

__all__ = ["SILENT", "Observer", "observer_for"]
