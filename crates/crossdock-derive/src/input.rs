//! Which structs are taken.

use syn::{Attribute, Data, DeriveInput, Error, Fields, Ident, Member, Result, Token, Type, token};

/// A struct whose layout is known, as far as the syntax can tell.
pub(crate) struct Struct<'a> {
    pub(crate) name: &'a Ident,
    pub(crate) is_transparent: bool,
    /// Not empty, in the order of their offsets; exactly one where the struct is transparent.
    pub(crate) fields: Vec<Field<'a>>,
}

pub(crate) struct Field<'a> {
    /// How Rust calls it: `price`, `r#type` or `0`.
    pub(crate) member: Member,
    /// How the dtype calls it: `price`, `type` or `f0`.
    pub(crate) name: String,
    pub(crate) ty: &'a Type,
}

impl<'a> Struct<'a> {
    /// # Errors
    ///
    /// For what is not a struct, has generics, has no fields, or leaves its layout to the compiler.
    pub(crate) fn new(input: &'a DeriveInput) -> Result<Self> {
        let name = &input.ident;
        let fields = match &input.data {
            Data::Struct(data) => &data.fields,
            Data::Enum(_) => {
                return Err(Error::new_spanned(
                    name,
                    format!(
                        "`{name}` cannot be an element: memory from elsewhere may hold bytes that are none of an \
                         enum's variants; make its number the element, and convert"
                    ),
                ));
            }
            Data::Union(_) => {
                return Err(Error::new_spanned(
                    name,
                    format!("`{name}` cannot be an element: a dtype cannot say which field of a union holds"),
                ));
            }
        };
        if !input.generics.params.is_empty() {
            return Err(Error::new_spanned(
                &input.generics,
                format!(
                    "`{name}` cannot be an element: each element type has one dtype and one proof that it has no \
                     padding, so there are no generics; derive it for the concrete struct"
                ),
            ));
        }
        let repr = Repr::new(&input.attrs)?;
        if !(repr.c || repr.transparent) {
            return Err(Error::new_spanned(
                name,
                format!(
                    "`{name}` cannot be an element: Rust may order its fields as it likes; write `#[repr(C)]`, \
                     `#[repr(C, packed)]` or `#[repr(transparent)]`"
                ),
            ));
        }
        let fields = named(fields);
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
                    "`{name}` cannot be an element: a transparent one is its only field, but this has {} fields",
                    fields.len()
                ),
            ));
        }
        Ok(Self { name, is_transparent: repr.transparent, fields })
    }
}

fn named(fields: &Fields) -> Vec<Field<'_>> {
    let name = |member: &Member| match member {
        // A raw identifier is Rust's matter: `r#type` is the field `type`.
        Member::Named(ident) => ident.to_string().trim_start_matches("r#").to_owned(),
        Member::Unnamed(index) => format!("f{}", index.index),
    };
    fields
        .members()
        .zip(fields)
        .map(|(member, field)| Field { name: name(&member), member, ty: &field.ty })
        .collect()
}

/// The words of the `#[repr(…)]` attributes that decide about the layout.
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
                // The argument of `packed(2)` or `align(8)`: whatever it is, the offsets will tell.
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
