//! Dispatch from run-time dtypes and ranks to types: the macros and the functions that they call.
//!
//! Reasons: `DESIGN.md`, "`dispatch!` lists its dtypes and ranks".

use crate::array::{Array, DArray};
use crate::element::{DType, Element};
use crate::error::{Error, Kind, Rejected};

/// Runs an expression on a [`DArray`](crate::DArray) as the [`Array`](crate::Array) that it is.
///
/// `dispatch!(array, |typed| expression)` takes the array, and is a `Result`: of the expression's
/// value, or of the [`Rejected`](crate::Rejected) array if its dtype or rank is not listed. Without
/// a list, the ten native integers and floats in ranks 0 to 8 are accepted. A list `Array<f32 |
/// f64, 1 | 2>` names element types (of any kind that is an [`Element`](crate::element::Element))
/// and ranks, and `_` stands for all of either. The expression is compiled for each with its own
/// types; `?`, `return` and a labelled `break` act at the call site.
///
/// ```
/// use crossdock::{Array, DArray, dispatch};
///
/// fn sum(array: DArray) -> crossdock::Result<f64> {
///     Ok(dispatch!(array, |typed| typed.read()?.iter().map(|&element| element as f64).sum())?)
/// }
///
/// let array = DArray::from(Array::<_, 2>::from_nested([[1u8, 2], [3, 4]])?);
/// assert_eq!(sum(array.clone())?, 10.0);
///
/// let refused = dispatch!(array, Array<f32 | f64, 1 | 2>, |typed| typed.len()).unwrap_err();
/// assert_eq!(
///     refused.to_string(),
///     "an array of uint8 and rank 2 is not supported here; supported element types are float32, float64, ranks are 1, 2"
/// );
/// assert_eq!(refused.value.shape(), [2, 2]); // nothing was lost
/// # Ok::<(), crossdock::Error>(())
/// ```
///
/// # Two arrays
///
/// `dispatch!((a, b), |x, y| expression)` is for two arrays of the same dtype and rank, and may
/// have one list. With two lists each array has its own type and rank, and the expression is
/// compiled for every pair.
///
/// ```
/// use crossdock::{DArray, dispatch};
///
/// let prices = DArray::from_vec(vec![0.5, 2.0], &[2])?;
/// let counts = DArray::from_vec(vec![10u32, 20], &[2])?;
/// let total = dispatch!((prices, counts), (Array<f32 | f64, 1>, Array<u8 | u32, 1>), |price, count| {
///     let (price, count) = (price.read()?, count.read()?);
///     (0..2).map(|i| f64::from(price.view()[[i]]) * f64::from(count.view()[[i]])).sum::<f64>()
/// })?;
/// assert_eq!(total, 45.0);
/// # Ok::<(), crossdock::Error>(())
/// ```
///
/// # Code size
///
/// There is one copy of the expression for each element type and rank: 90 without a list. For any
/// two arrays it would be 8,100, so two arrays must have the same dtype and rank, or lists. On
/// x86-64, a sum of all elements came to 61 kB for all and to 9 kB for two types in two ranks, a
/// call of `len` to 6 kB for all. A copy is chosen by comparing dtypes one after the other, and a
/// switch over the ranks.
#[macro_export]
macro_rules! dispatch {
    (($a:expr, $b:expr), |$x:pat_param, $y:pat_param| $body:expr $(,)?) => {
        $crate::__dispatch!(@alike ($a, $b) [_] [_] [$x] [$y] [$body])
    };
    (($a:expr, $b:expr), Array<_, $($rank:tt)|+>, |$x:pat_param, $y:pat_param| $body:expr $(,)?) => {
        $crate::__dispatch!(@alike ($a, $b) [_] [$($rank),+] [$x] [$y] [$body])
    };
    (($a:expr, $b:expr), Array<$($ty:ty)|+, $($rank:tt)|+>, |$x:pat_param, $y:pat_param| $body:expr $(,)?) => {
        $crate::__dispatch!(@alike ($a, $b) [$($ty),+] [$($rank),+] [$x] [$y] [$body])
    };
    (
        ($a:expr, $b:expr), (Array<_, $($rank:tt)|+>, Array<_, $($other_rank:tt)|+>),
        |$x:pat_param, $y:pat_param| $body:expr $(,)?
    ) => {
        $crate::__dispatch!(@each ($a, $b) [_] [$($rank),+] [_] [$($other_rank),+] [$x] [$y] [$body])
    };
    (
        ($a:expr, $b:expr), (Array<_, $($rank:tt)|+>, Array<$($other:ty)|+, $($other_rank:tt)|+>),
        |$x:pat_param, $y:pat_param| $body:expr $(,)?
    ) => {
        $crate::__dispatch!(@each ($a, $b) [_] [$($rank),+] [$($other),+] [$($other_rank),+] [$x] [$y] [$body])
    };
    (
        ($a:expr, $b:expr), (Array<$($ty:ty)|+, $($rank:tt)|+>, Array<_, $($other_rank:tt)|+>),
        |$x:pat_param, $y:pat_param| $body:expr $(,)?
    ) => {
        $crate::__dispatch!(@each ($a, $b) [$($ty),+] [$($rank),+] [_] [$($other_rank),+] [$x] [$y] [$body])
    };
    (
        ($a:expr, $b:expr), (Array<$($ty:ty)|+, $($rank:tt)|+>, Array<$($other:ty)|+, $($other_rank:tt)|+>),
        |$x:pat_param, $y:pat_param| $body:expr $(,)?
    ) => {
        $crate::__dispatch!(
            @each ($a, $b) [$($ty),+] [$($rank),+] [$($other),+] [$($other_rank),+] [$x] [$y] [$body]
        )
    };
    ($a:expr, |$x:pat_param| $body:expr $(,)?) => {
        $crate::__dispatch!(@one ($a) [_] [_] [$x] [$body])
    };
    ($a:expr, Array<_, $($rank:tt)|+>, |$x:pat_param| $body:expr $(,)?) => {
        $crate::__dispatch!(@one ($a) [_] [$($rank),+] [$x] [$body])
    };
    ($a:expr, Array<$($ty:ty)|+, $($rank:tt)|+>, |$x:pat_param| $body:expr $(,)?) => {
        $crate::__dispatch!(@one ($a) [$($ty),+] [$($rank),+] [$x] [$body])
    };
}

/// Runs an expression with the Rust type of a dtype.
///
/// `dispatch_dtype!(dtype, T => expression)` is a `Result` of the expression's value, and
/// `is_dtype` if the dtype is not one of the ten native integers and floats;
/// `dispatch_dtype!(dtype, T: f32 | f64 => expression)` lists the types. The expression is compiled
/// for each, with `T` as its name.
///
/// ```
/// use crossdock::{dispatch_dtype, element::DType};
///
/// assert_eq!(dispatch_dtype!(&DType::U16, T => u64::from(T::MAX as u32))?, 65_535);
/// # Ok::<(), crossdock::Error>(())
/// ```
#[macro_export]
macro_rules! dispatch_dtype {
    ($dtype:expr, $T:ident => $body:expr $(,)?) => {
        $crate::__dispatch!(@dtype ($dtype) [_] $T [$body])
    };
    ($dtype:expr, $T:ident : $($ty:ty)|+ => $body:expr $(,)?) => {
        $crate::__dispatch!(@dtype ($dtype) [$($ty),+] $T [$body])
    };
}

/// Runs an expression with a rank as a constant.
///
/// `dispatch_rank!(rank, D => expression)` is a `Result` of the expression's value, and
/// `is_unsupported` if the rank is above 8; `dispatch_rank!(rank, D: 1 | 2 => expression)` lists
/// the ranks. The expression is compiled for each, with `D` as the constant's name.
///
/// ```
/// use crossdock::{dispatch_rank, layout::{FixedLayout, Layout, Order}};
///
/// let layout = Layout::contiguous(&[2, 3, 4], 8, Order::RowMajor)?;
/// let numel = dispatch_rank!(layout.rank(), D => layout.to_fixed::<D>()?.len())?;
/// assert_eq!(numel, 24);
/// assert!(dispatch_rank!(3, D: 1 | 2 => D).unwrap_err().to_string().contains("rank 3"));
/// # Ok::<(), crossdock::Error>(())
/// ```
#[macro_export]
macro_rules! dispatch_rank {
    ($rank:expr, $D:ident => $body:expr $(,)?) => {
        $crate::__dispatch!(@constant ($rank) [_] $D [$body])
    };
    ($rank:expr, $D:ident : $($listed:tt)|+ => $body:expr $(,)?) => {
        $crate::__dispatch!(@constant ($rank) [$($listed),+] $D [$body])
    };
}

/// Passes the element types that `_` stands for to the macro, between its other arguments.
#[doc(hidden)]
#[macro_export]
macro_rules! __natives {
    ({$($before:tt)*} $($behind:tt)*) => {
        $crate::__dispatch! { $($before)* [u8, u16, u32, u64, i8, i16, i32, i64, f32, f64] $($behind)* }
    };
}

/// The implementation of the other macros. Lists of types and of ranks are in brackets; `[_]` is
/// first replaced by all. The chosen branch leaves the labelled block with its value, so the code
/// after it still owns the arrays.
#[doc(hidden)]
#[macro_export]
macro_rules! __dispatch {
    (@hand_to [$($ty:ty),+] $other:ident) => { $other!($($ty),+); };
    (@dtypes [$($ty:ty),+]) => { [$(<$ty as $crate::element::Element>::dtype()),+] };

    (@one $a:tt [_] $($rest:tt)*) => { $crate::__natives!({@one $a} $($rest)*) };
    (@one $a:tt $types:tt [_] $($rest:tt)*) => {
        $crate::__dispatch!(@one $a $types [0, 1, 2, 3, 4, 5, 6, 7, 8] $($rest)*)
    };
    (@one ($a:expr) [$($ty:ty),+] $ranks:tt $x:tt $body:tt) => {{
        let array: $crate::array::DArray = $a;
        'chosen: {
            $(
                if $crate::array::dispatch::is_of::<$ty>(&array) {
                    $crate::__dispatch!(@one_rank 'chosen array [$ty] $ranks $x $body)
                }
            )+
            ::core::result::Result::Err($crate::array::dispatch::refused(
                array,
                &$crate::__dispatch!(@dtypes [$($ty),+]),
                &$ranks,
            ))
        }
    }};
    (@one_rank $label:lifetime $array:ident [$ty:ty] [$($rank:tt),+] [$x:pat_param] [$body:expr]) => {
        match $array.rank() {
            $(
                $rank => break $label match <$crate::array::Array::<$ty, $rank> as ::core::convert::TryFrom<_>>::try_from($array) {
                    ::core::result::Result::Ok($x) => ::core::result::Result::Ok($body),
                    ::core::result::Result::Err(rejected) => ::core::result::Result::Err(rejected),
                },
            )+
            _ => {}
        }
    };

    (@alike $ab:tt [_] $($rest:tt)*) => { $crate::__natives!({@alike $ab} $($rest)*) };
    (@alike $ab:tt $types:tt [_] $($rest:tt)*) => {
        $crate::__dispatch!(@alike $ab $types [0, 1, 2, 3, 4, 5, 6, 7, 8] $($rest)*)
    };
    (@alike ($a:expr, $b:expr) [$($ty:ty),+] $ranks:tt $x:tt $y:tt $body:tt) => {{
        let pair: ($crate::array::DArray, $crate::array::DArray) = ($a, $b);
        'chosen: {
            if pair.0.dtype() == pair.1.dtype() && pair.0.rank() == pair.1.rank() {
                $(
                    if $crate::array::dispatch::is_of::<$ty>(&pair.0) {
                        $crate::__dispatch!(@alike_rank 'chosen pair [$ty] $ranks $x $y $body)
                    }
                )+
            }
            let types = $crate::__dispatch!(@dtypes [$($ty),+]);
            let ranks = $ranks;
            ::core::result::Result::Err($crate::array::dispatch::refused_alike(pair, &types, &ranks))
        }
    }};
    (@alike_rank $label:lifetime $pair:ident [$ty:ty] [$($rank:tt),+] $x:tt $y:tt $body:tt) => {
        match $pair.0.rank() {
            $( $rank => $crate::__dispatch!(@both $label $pair [$ty, $rank] [$ty, $rank] $x $y $body), )+
            _ => {}
        }
    };

    (@each $ab:tt [_] $($rest:tt)*) => { $crate::__natives!({@each $ab} $($rest)*) };
    (@each $ab:tt $types:tt [_] $($rest:tt)*) => {
        $crate::__dispatch!(@each $ab $types [0, 1, 2, 3, 4, 5, 6, 7, 8] $($rest)*)
    };
    (@each $ab:tt $types:tt $ranks:tt [_] $($rest:tt)*) => {
        $crate::__natives!({@each $ab $types $ranks} $($rest)*)
    };
    (@each $ab:tt $types:tt $ranks:tt $others:tt [_] $($rest:tt)*) => {
        $crate::__dispatch!(@each $ab $types $ranks $others [0, 1, 2, 3, 4, 5, 6, 7, 8] $($rest)*)
    };
    (
        @each ($a:expr, $b:expr) [$($ty:ty),+] $ranks:tt $others:tt $other_ranks:tt
        $x:tt $y:tt $body:tt
    ) => {{
        let pair: ($crate::array::DArray, $crate::array::DArray) = ($a, $b);
        'chosen: {
            $(
                if $crate::array::dispatch::is_of::<$ty>(&pair.0) {
                    $crate::__dispatch!(
                        @each_rank 'chosen pair [$ty] $ranks $others $other_ranks $x $y $body
                    );
                }
            )+
            let types = $crate::__dispatch!(@dtypes [$($ty),+]);
            let others = $crate::__dispatch!(@dtypes $others);
            ::core::result::Result::Err($crate::array::dispatch::refused_each(
                pair,
                (&types, &$ranks),
                (&others, &$other_ranks),
            ))
        }
    }};
    (
        @each_rank $label:lifetime $pair:ident [$ty:ty] [$($rank:tt),+] $others:tt $other_ranks:tt
        $x:tt $y:tt $body:tt
    ) => {
        match $pair.0.rank() {
            $(
                $rank => {
                    $crate::__dispatch!(@each_other $label $pair [$ty, $rank] $others $other_ranks $x $y $body);
                }
            )+
            _ => {}
        }
    };
    (
        @each_other $label:lifetime $pair:ident $first:tt [$($other:ty),+] $other_ranks:tt
        $x:tt $y:tt $body:tt
    ) => {
        $(
            if $crate::array::dispatch::is_of::<$other>(&$pair.1) {
                $crate::__dispatch!(@each_other_rank $label $pair $first [$other] $other_ranks $x $y $body);
            }
        )+
    };
    (
        @each_other_rank $label:lifetime $pair:ident $first:tt [$other:ty] [$($other_rank:tt),+]
        $x:tt $y:tt $body:tt
    ) => {
        match $pair.1.rank() {
            $( $other_rank => $crate::__dispatch!(@both $label $pair $first [$other, $other_rank] $x $y $body), )+
            _ => {}
        }
    };
    (
        @both $label:lifetime $pair:ident [$ty:ty, $rank:tt] [$other:ty, $other_rank:tt]
        [$x:pat_param] [$y:pat_param] [$body:expr]
    ) => {
        break $label match $crate::array::dispatch::both::<$ty, $rank, $other, $other_rank>($pair) {
            ::core::result::Result::Ok(($x, $y)) => ::core::result::Result::Ok($body),
            ::core::result::Result::Err(rejected) => ::core::result::Result::Err(rejected),
        }
    };

    (@dtype $dtype:tt [_] $($rest:tt)*) => { $crate::__natives!({@dtype $dtype} $($rest)*) };
    (@dtype ($dtype:expr) [$($ty:ty),+] $T:ident [$body:expr]) => {{
        let dtype: &$crate::element::DType = $dtype;
        'chosen: {
            $(
                if *dtype == <$ty as $crate::element::Element>::dtype() {
                    type $T = $ty;
                    break 'chosen ::core::result::Result::Ok($body);
                }
            )+
            ::core::result::Result::Err($crate::array::dispatch::refused_dtype(
                dtype,
                &$crate::__dispatch!(@dtypes [$($ty),+]),
            ))
        }
    }};
    (@constant $rank:tt [_] $($rest:tt)*) => {
        $crate::__dispatch!(@constant $rank [0, 1, 2, 3, 4, 5, 6, 7, 8] $($rest)*)
    };
    (@constant ($rank:expr) [$($listed:tt),+] $D:ident [$body:expr]) => {
        match $rank {
            $(
                $listed => {
                    const $D: usize = $listed;
                    ::core::result::Result::Ok($body)
                }
            )+
            rank => ::core::result::Result::Err($crate::array::dispatch::refused_rank(rank, &[$($listed),+])),
        }
    };
}

/// Whether the elements are `T`s.
#[inline]
pub fn is_of<T: Element>(array: &DArray) -> bool {
    *array.dtype() == T::dtype()
}

type Pair = (DArray, DArray);

/// Two arrays of these types and ranks, both or neither.
#[expect(clippy::result_large_err, reason = "what comes back are the arrays, in place")]
pub fn both<T: Element, const D: usize, U: Element, const E: usize>(
    (first, second): Pair,
) -> Result<(Array<T, D>, Array<U, E>), Rejected<Pair>> {
    let first = match Array::try_from(first) {
        Ok(first) => first,
        Err(Rejected { value, error }) => return Err(Rejected { value: (value, second), error }),
    };
    match Array::try_from(second) {
        Ok(second) => Ok((first, second)),
        Err(Rejected { value, error }) => Err(Rejected { value: (first.into(), value), error }),
    }
}

fn list(items: impl IntoIterator<Item = impl ToString>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(", ")
}

/// The error for a dtype or a rank that is not listed.
fn unlisted(dtype: &DType, rank: usize, types: &[DType], ranks: &[usize]) -> Error {
    let kind = if types.contains(dtype) { Kind::Shape } else { Kind::DType };
    Error::new(
        kind,
        format!(
            "an array of {} and rank {rank} is not supported here; supported element types are {}, ranks \
            are {}",
            dtype.brief(),
            list(types),
            list(ranks)
        ),
    )
}

#[cold]
pub fn refused(array: DArray, types: &[DType], ranks: &[usize]) -> Rejected<DArray> {
    let error = unlisted(array.dtype(), array.rank(), types, ranks);
    Rejected { value: array, error }
}

#[cold]
pub fn refused_alike(pair: Pair, types: &[DType], ranks: &[usize]) -> Rejected<Pair> {
    let (first, second) = &pair;
    let kind = if first.dtype() != second.dtype() { Some(Kind::DType) } else { None };
    let kind = kind.or((first.rank() != second.rank()).then_some(Kind::Shape));
    let error = match kind {
        None => unlisted(first.dtype(), first.rank(), types, ranks),
        Some(kind) => Error::new(
            kind,
            format!(
                "the first array is {} of rank {}, the second is {} of rank {}; cast or reshape one of them",
                first.dtype().brief(),
                first.rank(),
                second.dtype().brief(),
                second.rank()
            ),
        ),
    };
    Rejected { value: pair, error }
}

#[cold]
pub fn refused_each(
    pair: Pair,
    (types, ranks): (&[DType], &[usize]),
    (others, other_ranks): (&[DType], &[usize]),
) -> Rejected<Pair> {
    let (first, second) = &pair;
    let error = if types.contains(first.dtype()) && ranks.contains(&first.rank()) {
        unlisted(second.dtype(), second.rank(), others, other_ranks).within("the second array")
    } else {
        unlisted(first.dtype(), first.rank(), types, ranks).within("the first array")
    };
    Rejected { value: pair, error }
}

#[cold]
pub fn refused_dtype(dtype: &DType, types: &[DType]) -> Error {
    Error::new(
        Kind::DType,
        format!("{} is not supported here; supported element types are {}", dtype.brief(), list(types)),
    )
}

#[cold]
pub fn refused_rank(rank: usize, ranks: &[usize]) -> Error {
    Error::new(
        Kind::Unsupported,
        format!("rank {rank} is not supported here; supported ranks are {}", list(ranks)),
    )
}
