//! NumPy's letters for the orders of elements.

use clap::ValueEnum;
use crossdock::layout::Order;

/// An order as an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Letter {
    /// Row-major.
    #[value(name = "C")]
    C,
    /// Column-major.
    #[value(name = "F")]
    F,
}

impl From<Letter> for Order {
    fn from(letter: Letter) -> Self {
        match letter {
            Letter::C => Self::RowMajor,
            Letter::F => Self::ColumnMajor,
        }
    }
}
