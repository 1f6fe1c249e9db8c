pub(crate) const MEASURES: &[crate::Measure] = &[];
