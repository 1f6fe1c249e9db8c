//! The structs that are accepted.

use syn::{
    Attribute, Data, DeriveInput, Error, Fields, Ident, LitStr, Member, Path, Result, Token, Type, token,
};

/// A struct whose layout is known, as far as the syntax can tell.
pub(crate) struct Struct<'a> {
    pub(crate) name: &'a Ident,
    /// The path of the library: `::crossdock`, or what `#[element(crate = …)]` says.
    pub(crate) library: Path,
    pub(crate) is_transparent: bool,
    /// Not empty, in the order of their offsets; exactly one where the struct is transparent.
    pub(crate) fields: Vec<Field<'a>>,
}

pub(crate) struct Field<'a> {
    /// Its name in Rust: `price`, `r#type` or `0`.
    pub(crate) member: Member,
    /// Its name in the dtype: `price`, `type` or `f0`, or the one of `renamed`.
    pub(crate) name: String,
    renamed: Option<LitStr>,
    pub(crate) ty: &'a Type,
}

impl<'a> Struct<'a> {
    /// # Errors
    ///
    /// For input that is not a struct, has generics, has no fields, or leaves its layout to the
    /// compiler.
    pub(crate) fn new(input: &'a DeriveInput) -> Result<Self> {
        let name = &input.ident;
        let fields = match &input.data {
            Data::Struct(data) => &data.fields,
            Data::Enum(_) => {
                return Err(Error::new_spanned(
                    name,
                    format!(
                        "`{name}` cannot be an element: foreign memory may hold bytes that are not a \
                        variant of an enum; use its number as the element, and convert"
                    ),
                ));
            }
            Data::Union(_) => {
                return Err(Error::new_spanned(
                    name,
                    format!(
                        "`{name}` cannot be an element: a dtype cannot express which field of a union is \
                        valid"
                    ),
                ));
            }
        };
        if !input.generics.params.is_empty() {
            return Err(Error::new_spanned(
                &input.generics,
                format!(
                    "`{name}` cannot be an element: a generic struct has no single dtype; derive `Element` \
                    for a concrete struct"
                ),
            ));
        }
        let repr = Repr::new(&input.attrs)?;
        if !(repr.c || repr.transparent) {
            return Err(Error::new_spanned(
                name,
                format!(
                    "`{name}` cannot be an element: Rust may reorder its fields; add `#[repr(C)]`, \
                    `#[repr(C, packed)]` or `#[repr(transparent)]`"
                ),
            ));
        }
        let library = library(&input.attrs)?;
        let fields = named(fields)?;
        if fields.is_empty() {
            return Err(Error::new_spanned(
                name,
                format!("`{name}` cannot be an element: it has no fields, so it has no bytes"),
            ));
        }
        if repr.transparent && fields.len() > 1 {
            return Err(Error::new_spanned(
                name,
                format!(
                    "`{name}` cannot be an element: a transparent struct must have one field, but this has \
                    {}",
                    fields.len()
                ),
            ));
        }
        for (i, field) in fields.iter().enumerate() {
            if repr.transparent
                && let Some(renamed) = &field.renamed
            {
                return Err(Error::new_spanned(
                    renamed,
                    format!(
                        "`{name}` is transparent, so its dtype is that of its field and has no field names; \
                        remove the name"
                    ),
                ));
            }
            let before = &fields[..i];
            if let Some(twin) = before.iter().find(|twin| twin.name == field.name) {
                let at = field.renamed.as_ref().or(twin.renamed.as_ref());
                let text =
                    format!("`{name}` has two fields named {:?}; give each field its own name", field.name);
                return Err(Error::new(at.map_or_else(|| name.span(), syn::LitStr::span), text));
            }
        }
        Ok(Self { name, library, is_transparent: repr.transparent, fields })
    }
}

fn named(fields: &Fields) -> Result<Vec<Field<'_>>> {
    let name = |member: &Member| match member {
        // A raw identifier exists in Rust only: `r#type` is the field `type`.
        Member::Named(ident) => ident.to_string().trim_start_matches("r#").to_owned(),
        Member::Unnamed(index) => format!("f{}", index.index),
    };
    fields
        .members()
        .zip(fields)
        .map(|(member, field)| {
            let renamed = renamed(&field.attrs)?;
            let name = renamed.as_ref().map_or_else(|| name(&member), LitStr::value);
            Ok(Field { name, renamed, member, ty: &field.ty })
        })
        .collect()
}

/// The attributes of this derive.
fn own(attributes: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("element"))
}

/// The path of `#[element(crate = …)]` at a struct, or `::crossdock`.
fn library(attributes: &[Attribute]) -> Result<Path> {
    let mut library = None;
    for attribute in own(attributes) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("name") {
                return Err(meta.error("`name = \"…\"` names a field; move it to that field"));
            }
            if !meta.path.is_ident("crate") {
                return Err(meta.error("only `crate = path::of::crossdock` is supported on a struct"));
            }
            match library.replace(meta.value()?.call(Path::parse_mod_style)?) {
                None => Ok(()),
                Some(_) => Err(meta.error("the struct already has a `crate`")),
            }
        })?;
    }
    Ok(library.unwrap_or_else(|| syn::parse_quote!(::crossdock)))
}

/// The text of `#[element(name = "…")]`.
fn renamed(attributes: &[Attribute]) -> Result<Option<LitStr>> {
    let mut name: Option<LitStr> = None;
    for attribute in own(attributes) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("name") {
                return Err(meta.error("only `name = \"…\"` is supported on a field"));
            }
            let text: LitStr = meta.value()?.parse()?;
            if text.value().is_empty() {
                return Err(Error::new_spanned(text, "the name of a field must not be empty"));
            }
            match name.replace(text) {
                None => Ok(()),
                Some(_) => Err(meta.error("the field already has a name")),
            }
        })?;
    }
    Ok(name)
}

/// The arguments of the `#[repr(…)]` attributes that determine the layout.
#[derive(Default)]
struct Repr {
    c: bool,
    transparent: bool,
}

impl Repr {
    fn new(attributes: &[Attribute]) -> Result<Self> {
        let mut repr = Self::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("repr")) {
            attribute.parse_nested_meta(|meta| {
                repr.c |= meta.path.is_ident("C");
                repr.transparent |= meta.path.is_ident("transparent");
                // The argument of `packed(2)` or `align(8)`: the offsets show its effect.
                if meta.input.peek(token::Paren) {
                    let argument;
                    syn::parenthesized!(argument in meta.input);
                    argument.parse::<syn::LitInt>()?;
                }
                debug_assert!(meta.input.is_empty() || meta.input.peek(Token![,]));
                Ok(())
            })?;
        }
        Ok(repr)
    }
}
