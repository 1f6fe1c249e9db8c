//! What the calls of a pickle mean: those that make dictionaries and tensors are known, and none is
//! ever made.

use std::rc::Rc;

use crate::error::Result;
use crate::exchange::files::torch::pickle::{
    PickleMachine, Pickled, PickledStorage, PickledTensor, malformed,
};
use crate::layout::MAX_RANK;

impl PickleMachine<'_> {
    /// The result of a call, or a new object of a class, which is not called.
    pub(super) fn made(&mut self, callee: Pickled, arguments: &Pickled, is_call: bool) -> Result<Pickled> {
        let Pickled::Global(name) = callee else {
            return Err(malformed("it calls what is neither a class nor a function"));
        };
        let (name, arguments) = match (&*name, self.items(arguments)) {
            // A tensor with attributes: the function that makes the tensor, its class, the
            // arguments.
            (
                "torch._tensor._rebuild_from_type_v2",
                [Pickled::Global(inner), Pickled::Global(class), arguments @ Pickled::Tuple(_), _],
            ) if is_call && class.starts_with("torch.") => (inner.clone(), arguments.clone()),
            _ => (name, arguments.clone()),
        };
        let items = self.items(&arguments);
        Ok(match (&*name, items) {
            ("collections.OrderedDict", [])
            | ("collections.defaultdict", [] | [Pickled::Nothing | Pickled::Global(_)]) => {
                self.push_dict()?;
                self.pop()?
            }
            (
                "torch._utils._rebuild_parameter" | "torch._utils._rebuild_parameter_with_state",
                [data, ..],
            ) if is_call => data.clone(),
            (
                "torch._utils._rebuild_tensor_v2",
                [Pickled::Storage(storage), offset, shape, strides, _, _, more @ ..],
            ) => self.tensor(storage, None, [offset, shape, strides], more),
            (
                "torch._utils._rebuild_tensor_v3",
                [Pickled::Storage(storage), offset, shape, strides, _, _, Pickled::Global(dtype), more @ ..],
            ) => self.tensor(storage, Some(dtype.clone()), [offset, shape, strides], more),
            _ => Pickled::Object(name),
        })
    }

    /// A tensor, or the reason why it cannot be opened.
    fn tensor(
        &self,
        storage: &Rc<PickledStorage>,
        dtype: Option<Rc<str>>,
        [offset, shape, strides]: [&Pickled; 3],
        metadata: &[Pickled],
    ) -> Pickled {
        if let Some(reason) = self.changes(metadata) {
            return Pickled::NoTensor(reason.into());
        }
        if let Some(rank) = [shape, strides].map(|value| self.items(value).len()).into_iter().max()
            && rank > MAX_RANK
        {
            return Pickled::NoTensor(format!("it has {rank} axes; at most {MAX_RANK} are allowed").into());
        }
        let (Pickled::Int(offset), Some(shape), Some(strides)) =
            (offset, self.numbers(shape), self.numbers(strides))
        else {
            return Pickled::NoTensor("its offset, shape and strides are no integers of 64 bits".into());
        };
        let (storage, offset) = (storage.clone(), *offset);
        Pickled::Tensor(Rc::new(PickledTensor { storage, dtype, offset, shape, strides }))
    }

    /// How the metadata of a tensor change its elements, if they do.
    fn changes(&self, metadata: &[Pickled]) -> Option<&'static str> {
        const OTHER: &str = "it has metadata that are not known";
        metadata.iter().find_map(|value| match value {
            Pickled::Nothing => None,
            Pickled::Dict(dict) => self.dicts[*dict].iter().find_map(|pair| match pair {
                (Pickled::Text(_), Pickled::Bool(false)) => None,
                (Pickled::Text(key), Pickled::Bool(true)) if &**key == "conj" => {
                    Some("it is conjugated, but its storage is not: save what tensor.resolve_conj() returns")
                }
                (Pickled::Text(key), Pickled::Bool(true)) if &**key == "neg" => {
                    Some("it is negated, but its storage is not: save what tensor.resolve_neg() returns")
                }
                _ => Some(OTHER),
            }),
            _ => Some(OTHER),
        })
    }

    /// The integers of a tuple.
    fn numbers(&self, tuple: &Pickled) -> Option<Vec<i64>> {
        let Pickled::Tuple(_) = tuple else { return None };
        let number = |value: &Pickled| match value {
            Pickled::Int(number) => Some(*number),
            _ => None,
        };
        self.items(tuple).iter().map(number).collect()
    }
}
