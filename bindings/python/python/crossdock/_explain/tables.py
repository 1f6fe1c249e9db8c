"""What happens to the columns of a table: which are handed over in place, and which are copied."""

import warnings

from .._crossdock import table
from .consumers import REFUSES
from .offers import STREAM, Subject
from .result import TableColumn


def table_columns(obj: object, found: Subject, opens_streams: bool) -> list[TableColumn]:
    """The columns of a table by Arrow's stream; empty for any other object."""
    offer = found.offers.get(STREAM)
    if offer is None and not isinstance(obj, dict):
        return []
    is_other = offer is not None and offer.refusal is None and "'+s'" not in (offer.spelling or "")
    if is_other or not opens_streams:
        return []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made, again = (table(obj, skip_refused=True) for _ in range(2))
    except Exception:
        # It is no table, and `offers` has the reason.
        return []
    told = [TableColumn(*row) for row in made._handed_over(again)]  # type: ignore[attr-defined]
    told += [TableColumn(name, "", REFUSES, why, REFUSES, why) for name, why in made.refused.items()]
    return told
