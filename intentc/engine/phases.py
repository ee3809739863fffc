"""Describes the states of an engine, and what leads from one to another.

An engine can be in several of these states at once:

===========  ==============================  =================================  =======================================
state        entered when                    left when                          what may happen in it
===========  ==============================  =================================  =======================================
listing      the process starts              the first listing is applied       no evaluation, plan or allocation
pass due     a listing is applied; or some   no job is left, nor waits for a    evaluations; no plan, unless
             value to be freed waits for a   cooldown; then orphans are queued  *planning*; writes under way go on
             pass, unless *withheld*
evaluating   jobs are queued while           no job is left; or 1,000           evaluations; no new plan; writes and
             *planning*, by a listing, a     evaluations are done and no pass   allocations under way go on
             batch or relist, a load of all  is due
             allocations, a reload or
             ``reevaluate``
planning     *pass due* is left; or          *evaluating* is entered            plans, writes, allocations; evaluations
             *evaluating* is, and no pass                                       left over, or due to facts, directives,
             is due                                                             allocations, retries, ended cooldowns
throttled    the API server is unreachable   the server may be asked again      evaluations, read-backs; no new plan,
             or asks for a pause, or the                                        write or allocation
             rate limit is used up
withheld     a reason is given: observing,   ``lift`` removes the last reason   evaluations; plans, only reported; no
             standing by, restored,                                             new write or allocation
             upgrade, ending
uncertain    the watch is not ready, or the  the watch is ready and the lease   as *withheld*; each object and request
             lease is not certain            is certain                         is retried within a second
restored     the watch reports a restore,    the engine is *planning*, no pass  as *withheld*; assumed writes and
             or a listing or a key in it is  is due, and the allocations are    journal lines of the former store are
             older than before               read; if confirmation is           void
                                             required: the caller calls
                                             ``lift``
quiet        the first pass is complete;     a condition no longer holds        back-offs only
             nothing is queued, under way,
             or written and not yet echoed
             by the watch; no job waits for
             a cooldown
converged    *quiet* holds; no allocation    a condition no longer holds        as *quiet*; ``settled`` returns
             backs off, nor an object unless
             rejected or contended; while
             writes are withheld (unless
             observing), no plan and no
             allocation waits for permission
ending       ``run`` is cancelled or fails   no write is under way, or 8        writes under way may end; nothing else
                                             seconds have passed                begins
===========  ==============================  =================================  =======================================
"""
