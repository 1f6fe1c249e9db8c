//! What to do about an error, in the words of an extension, whose caller may not have the wheel.

use crossdock::bindings::Advice;

use crate::wheel_words;

/// What to do with an object that shares no memory, such as a list.
pub(crate) const COPY_OF_ELEMENTS: &str = "an array of a library does, such as numpy.asarray(x)";

/// What to do with one of NumPy's dates.
pub(crate) const COPY_OF_DATE: &str = "numpy.asarray(obj) is an array of it";

/// What to do with a Pillow image whose pixels have another layout.
pub(crate) const COPY_OF_PIXELS: &str = "numpy.asarray(image) copies them";

/// What else to do with masked elements: nothing, for nulls are refused as well.
pub(crate) const MASK_AS_NULLS: &str = "";

/// What to do with several chunks of a column, and with none.
pub(crate) const EACH_CHUNK: &str = "pass them one by one";
pub(crate) const NO_CHUNK: &str = "pass a column that has one";

/// What to do with elements that no array has: text, lists, bits.
pub(crate) const AS_TABLE: &str = "pass the columns that are numbers, one by one";

/// How an array goes to Arrow that is no column, but the only row of one.
pub(crate) const AS_ONE_TENSOR: &str = "numpy.asarray(x) is an array on the same memory";

/// As the words of the wheel, where they name no function of it.
pub(crate) fn words(advice: Advice) -> &'static str {
    match advice {
        Advice::CopyToShared => "copy it into shared memory",
        Advice::InsertAxisOrWhole => "insert an axis with `x[None]`",
        Advice::NullsBeside => "fill them, or leave them out",
        Advice::PinShareOrSeal => "seal the memory",
        Advice::RegisterCuda | Advice::RegisterOpenCl => "pass an array in the memory of the CPU",
        Advice::SharePinOrCopy => {
            "the extension may take it as `Readonly`, and vouch with the unsafe `assume_constant`"
        }
        Advice::TakeChildren | Advice::TakeColumns => "pass the columns one by one",
        _ => wheel_words::words(advice),
    }
}
