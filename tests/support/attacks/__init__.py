"""What a sandbox must withstand. Each attack can succeed where nothing confines it."""

from __future__ import annotations

from secondlook.sandbox.self_check import PROBES
from tests.support.attacks.endless import ENDLESS
from tests.support.attacks.files import FILES
from tests.support.attacks.jobs import JOBS
from tests.support.attacks.kernel import KERNEL
from tests.support.attacks.memory import MEMORY
from tests.support.attacks.network import NETWORK
from tests.support.attacks.output import OUTPUT
from tests.support.attacks.processes import PROCESSES

OTHERS = (*NETWORK, *FILES, *PROCESSES, *MEMORY, *ENDLESS, *OUTPUT, *KERNEL, *JOBS)
ATTACKS = (*PROBES, *OTHERS)
