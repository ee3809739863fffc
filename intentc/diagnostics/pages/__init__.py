"""The diagnostics as pages for people: what ``asking`` answers as JSON, as HTML that works without scripts.

Why it exists: at 3 a.m. nobody wants to read JSON. The pages ask the same protocols (``Observed``, ``Asked``) in
process, so they can say nothing that the JSON does not. Read-only: where something can be done, the command is shown.

``routes`` is the way in; ``overview``, ``objects``, ``reactions``, ``quarantine`` and ``journal`` turn answers into
what a template shows; ``rendering`` renders; ``words`` has what states
are called and which command helps; ``assets`` serves the style, the scripts and the library that draws. Who may ask is
left to ``access``.
"""

from .routes import no_answer_page, overview_page, page_routes, wants_page

__all__ = ["no_answer_page", "overview_page", "page_routes", "wants_page"]
