"""The publisher of an Application Gateway: puts the sub-resources that were compiled into Azure's document of it, and
records what the gateway has.

``serving`` runs one pass of ``publisher`` after another over what ``stored`` knows of etcd, and ``records`` writes
through the API server. ``client`` speaks Resource Manager's REST, with tokens from ``credentials``; ``meaning`` says
when two documents mean the same, ``rejections`` which sub-resource a rejection is about (docs/appgw.md §11). What the
document contains is decided by the compiler ``appgw``, and assembled by ``document``, which `intentc compile` uses as
well.

Nothing is imported here, so that only processes that publish load Azure's libraries (extra ``azure``).
"""
