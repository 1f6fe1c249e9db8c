"""An explanation as HTML for notebooks: a table of offers and one of consumers, in the page's colours."""

from html import escape

from .result import Explanation
from .text import column_words, footnote, headline, parts

MARKS = {"in place": "●", "copies": "◐", "refuses": "○", "misreads": "▲", "unknown": "?"}
CELL = 'style="text-align:left;vertical-align:top;padding:2px 8px"'


def html(explanation: Explanation) -> str:
    """The whole explanation. All text from objects is escaped."""
    offers = "".join(table_row(offer.protocol, ", ".join(parts(offer))) for offer in explanation.offers)
    offers += "".join(table_row("beware", words) for words in explanation.disagreements)
    consumers = "".join(
        table_row(one.name + ("" if one.verified else " *"), f"{MARKS[one.outcome]} {one.outcome}", one.reason)
        for one in explanation.consumers
    )
    columns = "".join(
        table_row(one.name, f"{MARKS[one.outcome]} {one.outcome}", column_words(one)[10:]) for one in explanation.columns
    )
    if columns:
        columns = f"<table><caption>What happens to its columns</caption><tbody>{columns}</tbody></table>"
    return (
        f"<div><p><b>{escape(headline(explanation))}</b></p>"
        f"<table><caption>What it offers</caption><tbody>{offers}</tbody></table>"
        f"{columns}"
        f"<table><caption>What consumers would do</caption><tbody>{consumers}</tbody></table>"
        f"<p><small>{escape(footnote(explanation.consumers))}</small></p></div>"
    )


def table_row(first: str, *cells: str) -> str:
    """A table with a header."""
    return (
        f"<tr><th {CELL}>{escape(first)}</th>" + "".join(f"<td {CELL}>{escape(cell)}</td>" for cell in cells) + "</tr>"
    )
