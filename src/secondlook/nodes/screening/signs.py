"""All signs, in English and elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.nodes.screening.languages import ELSEWHERE
from secondlook.nodes.screening.orders import OVERRIDING, ROLES, TASKS, VOIDING
from secondlook.nodes.screening.replies import DISGUISED, EXTRACTING, IN_PASSAGES, SCRIPTED
from secondlook.nodes.screening.sign import COERCION, EXTRACTION, OVERRIDE, ROLE, TASK, sign

if TYPE_CHECKING:
    from secondlook.nodes.screening.sign import Sign

SIGNS: tuple[Sign, ...] = (
    *OVERRIDING,
    *VOIDING,
    *TASKS,
    *ROLES,
    *EXTRACTING,
    *DISGUISED,
    *SCRIPTED,
    *IN_PASSAGES,
    *(sign(OVERRIDE, (0.95, 0.85), *one) for one in ELSEWHERE.override),
    *(sign(TASK, (0.75, 0.5), *one) for one in ELSEWHERE.task),
    *(sign(ROLE, (0.75, 0.4), *one) for one in ELSEWHERE.role),
    *(sign(EXTRACTION, (0.85, 0.3), *one) for one in ELSEWHERE.extraction),
    *(sign(COERCION, (0.6, 0.5), *one) for one in ELSEWHERE.coercion),
)
