//! Orders of elements as text.

use crossdock::layout::Order;

/// NumPy's letter for an order.
pub(crate) fn order_letter(order: Order) -> &'static str {
    match order {
        Order::RowMajor => "C",
        Order::ColumnMajor => "F",
    }
}
