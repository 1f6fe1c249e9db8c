pub(crate) fn rewrite() -> crate::Result {
    Ok(())
}
