//! What to do about an error, in the words of an extension, whose caller may not have the wheel.

use crossdock::bindings::Advice;

use crate::wheel_words;

/// What to do with an object that shares no memory, such as a list.
pub(crate) const COPY_OF_ELEMENTS: &str = "an array of a library does, such as numpy.asarray(x)";

/// As the words of the wheel, where they name no function of it.
pub(crate) fn words(advice: Advice) -> &'static str {
    match advice {
        Advice::InsertAxisOrWhole => "insert an axis with `x[None]`",
        Advice::NullsBeside => "fill them, or leave them out",
        Advice::SharePinOrCopy => {
            "the extension may take it as `Readonly`, and vouch with the unsafe `assume_constant`"
        }
        Advice::TakeChildren | Advice::TakeColumns => "pass the columns one by one",
        _ => wheel_words::words(advice),
    }
}
