"""Renders the diagnostics as HTML pages for people, which work without scripts.

Why it exists: people should not have to read JSON. The pages ask the same questions as the JSON paths, so they show
nothing that the JSON lacks. They are read-only: an action is shown as a command.

``site`` maps addresses to pages; ``summary``, ``one_object`` and ``listings`` turn answers into template values;
``rendering`` renders; ``words`` explains states and names commands; ``assets`` serves the style, the scripts and the
drawing library. ``access`` decides who may ask.
"""

from intentc.diagnostics.pages.site import no_answer_page, overview_page, page_routes, wants_page

__all__ = ["no_answer_page", "overview_page", "page_routes", "wants_page"]
