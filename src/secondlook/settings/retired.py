"""Settings of earlier versions, and what to do where a file still has them."""

from __future__ import annotations

_REMOVE = "It is fixed now: remove it."


def _moved(key: str, note: str = "") -> str:
    return f"Use {key} instead{note}."


RETIRED: dict[str, str] = {
    "library.index_token_env": "Put the token into MILVUS_TOKEN, and remove it.",
    "embedding.api_key_env": "Put the key into OPENAI_API_KEY, and remove it.",
    "serve.token_env": "Put the token into SECONDLOOK_TOKEN, and remove it.",
    "ingest.ocr_language": _moved("ingest.ocr", ', such as ocr = "deu+eng"'),
    "search.lexical": _moved("search.dense", ": words have the rest of 1"),
    "adaptive.lexical": _moved("adaptive.dense", ": words have the rest of 1"),
    "answer.min_confidence": _moved("answer.max_risk"),
    "answer.judge": _moved("models.servers.support"),
    "corrective.grader": _moved("models.servers.grade"),
    "corrective.enable_grounded_check": _moved("answer.enable_grounded_check"),
    "corrective.grounded_judge": _moved("models.servers.grounded"),
    "corrective.useful_judge": _moved("models.servers.useful"),
    "research.enable_screen_model": _moved("models.servers.screen", ', "model"'),
    "research.enable_quarantine": _moved("answer.enable_quarantine"),
    "research.classifier": _moved("models.servers.classify"),
    "research.synthesis": _moved("models.servers.synthesise"),
    "research.min_cosine": _moved("research.evaluator"),
    "research.weak_margin": _moved("research.evaluator"),
    "research.stagnation_spread": _moved("research.evaluator"),
    "research.enable_grounded_check": _moved("answer.enable_grounded_check"),
    "analyst.requirements": _moved("models.servers.require"),
    "analyst.enable_grammar": _moved("models.servers.query", ', "grammar" or "model"'),
    "analyst.enable_judgement": _moved("models.servers.judge", ', "model"'),
    "analyst.remedies": _moved("models.servers.remedy"),
    "analyst.explain": _moved("models.servers.explain"),
    "analyst.enable_number_check": _moved("analyst.enable_arithmetic"),
    "auto.one_fact": _moved("auto.routes.one_fact"),
    "auto.several_facts": _moved("auto.routes.several_facts"),
    "auto.account": _moved("auto.routes.account"),
    "web.backend": _moved("web.url", ": with it SearXNG is asked, without it DuckDuckGo"),
    "models.context_tokens": _moved("models.options", ', such as "all.context_tokens=8192"'),
    "models.timeout": _moved("models.options", ', such as "all.timeout=60"'),
    "models.retries": _moved("models.options", ', such as "all.retries=0"'),
    "serve.hosts": _moved("serve.origins", ', such as "https://papers.example"'),
    "telemetry.enable": _moved("telemetry.endpoint", ', an address or "program"'),
    "telemetry.service_name": "Set the variable OTEL_SERVICE_NAME, and remove it.",
} | dict.fromkeys(
    """
    ingest.max_table_mb ingest.idle_seconds ingest.commit_passages ingest.commit_seconds
    search.pool answer.packing answer.unsupported answer.min_support answer.risk_confidence
    corrective.follow_below corrective.max_parts research.enable_issues
    research.enable_shuffled_choice analyst.enable_variation analyst.enable_recomputation
    analyst.enable_charts analyst.profile_tokens auto.enable_comparison auto.enable_parts
    auto.enable_second_try web.after web.results web.timeout web.max_kb serve.queue
    serve.drain_seconds serve.files_per_upload serve.question_characters
    """.split(),  # noqa: SIM905  # a list of quoted words is harder to read
    _REMOVE,
)
