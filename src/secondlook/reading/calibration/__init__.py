"""What the reader's scores are worth: which span to answer with, how likely it is right, from
which probability on it may be given, and whether a search has found what answers.

The coefficients and thresholds are data that belong to one reader, named in them. They are shipped
in `calibration.json`; a library may hold its own. Of another reader's scores nothing is known:
probabilities are then None, and who asks decides without them. docs/confidence.md says what was
measured, and on what.
"""

from secondlook.reading.calibration.calibrated import Calibration
from secondlook.reading.calibration.candidates import (
    BEST,
    Candidate,
    answer_features,
    choose,
    quality_features,
)
from secondlook.reading.calibration.files import (
    CALIBRATION_FILE,
    FORMAT,
    CalibrationError,
    CalibrationMismatch,
    calibration_data,
    load_calibration,
    read_calibration,
    save_calibration,
)
from secondlook.reading.calibration.logistic import Logistic, Outcome, cross_fitted, fit_logistic
from secondlook.reading.calibration.risk import RiskRow, RiskTable, check_share, risk_table

__all__ = [
    "BEST",
    "CALIBRATION_FILE",
    "FORMAT",
    "Calibration",
    "CalibrationError",
    "CalibrationMismatch",
    "Candidate",
    "Logistic",
    "Outcome",
    "RiskRow",
    "RiskTable",
    "answer_features",
    "calibration_data",
    "check_share",
    "choose",
    "cross_fitted",
    "fit_logistic",
    "load_calibration",
    "quality_features",
    "read_calibration",
    "risk_table",
    "save_calibration",
]
