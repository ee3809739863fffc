"""Publishes the compiled sub-resources of an Application Gateway to Azure, and records what the gateway has.

``serving`` runs one pass of ``publisher`` after another over what ``compiled_world`` knows of etcd, and
``record_writer`` writes through the API server. ``client`` speaks Resource Manager's REST, with tokens from
``credentials``; ``normalize`` says when two documents are equal, ``rejections`` which Ingress a rejection is about
(docs/appgw.md §11). The compiler ``appgw`` decides what the document contains; ``document`` assembles it, for `intentc
compile` as well.

Nothing is imported here, so that only processes that publish load Azure's libraries (extra ``azure``).
"""
