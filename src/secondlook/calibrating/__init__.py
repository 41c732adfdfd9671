"""What the reader's scores are worth on a person's own documents: `secondlook calibrate`
(docs/confidence.md)."""

from secondlook.calibrating.procedure import calibrate
from secondlook.calibrating.report import CalibrationReport
from secondlook.calibrating.storing import InUse, in_use, remove

__all__ = ["CalibrationReport", "InUse", "calibrate", "in_use", "remove"]
