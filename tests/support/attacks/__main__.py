"""`python -m tests.support.attacks BACKEND`: all attacks on a backend, and the report as JSON."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

from secondlook.sandbox.self_check import self_check
from tests.support.attacks import ATTACKS

report = self_check(sys.argv[1], ATTACKS)  # type: ignore[arg-type]
sys.stdout.write(json.dumps(asdict(report)))
sys.exit(not report.holds)
