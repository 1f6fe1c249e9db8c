//! The code for a struct: the proofs, then the two implementations that depend on them.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::Path;
use syn::ext::IdentExt;
use syn::spanned::Spanned;

use crate::input::{Field, Struct};

pub(crate) fn element(input: &Struct<'_>) -> TokenStream {
    let name = input.name;
    let library = &input.library;
    let gaps = gaps(input);
    let dtype = if input.is_transparent { dtype_of_field(library, &input.fields[0]) } else { record(input) };
    quote! {
        const _: () = {
            #(#gaps)*

            // `Pod`: 1. and 3. each field is an `Element`, and so `Pod`, or else `dtype` does not
            // compile; 2. there is no gap before, between or after the fields.
            #[automatically_derived]
            unsafe impl #library::memory::Pod for #name {}

            // `Element`: 1. and 2. the record has the size of the struct, and each field its offset
            // and its own dtype.
            #[automatically_derived]
            unsafe impl #library::element::Element for #name {
                fn dtype() -> #library::element::DType {
                    #dtype
                }
            }
        };
    }
}

/// For each field and for the end: does not compile unless it begins where the previous field ends.
/// (The first field of a struct with a known layout is at offset 0. This is checked all the same,
/// since another macro may have changed the struct.)
fn gaps(input: &Struct<'_>) -> Vec<TokenStream> {
    let (name, library) = (input.name, &input.library);
    let first = &input.fields[0].member;
    let mut proofs = vec![quote! {
        const _: () = ::core::assert!(::core::mem::offset_of!(#name, #first) == 0);
    }];
    for (i, field) in input.fields.iter().enumerate() {
        let (member, ty) = (&field.member, field.ty);
        let next = input.fields.get(i + 1);
        let (begin, place, span) = match next {
            Some(next) => {
                let member = &next.member;
                let place = format!("between `{}` and `{}`", spell(field), spell(next));
                (quote!(::core::mem::offset_of!(#name, #member)), place, next.member.span())
            }
            None => {
                (quote!(::core::mem::size_of::<#name>()), format!("after `{}`", spell(field)), member.span())
            }
        };
        let gap = quote! {
            #begin - (::core::mem::offset_of!(#name, #member) + ::core::mem::size_of::<#ty>())
        };
        proofs.push(no_gap(library, &name.to_string(), &place, &gap, span));
    }
    proofs
}

/// The message has the number in it: `Padding` is text that is made while compiling.
fn no_gap(
    library: &Path,
    name: &str,
    place: &str,
    gap: &TokenStream,
    span: proc_macro2::Span,
) -> TokenStream {
    let (before, between) =
        (format!("`{name}` has "), format!(" of padding {place}, which may be uninitialised"));
    quote_spanned! { span =>
        const _: () = match #gap {
            0 => (),
            nbytes => ::core::panic!("{}", #library::element::Padding::new(#before, nbytes, #between).as_str()),
        };
    }
}

fn spell(field: &Field<'_>) -> String {
    match &field.member {
        // The name of a raw identifier, without `r#`.
        syn::Member::Named(ident) => ident.unraw().to_string(),
        syn::Member::Unnamed(index) => index.index.to_string(),
    }
}

/// The error for a field that is no `Element` stands at its type.
fn dtype_of_field(library: &Path, field: &Field<'_>) -> TokenStream {
    let ty = field.ty;
    quote!(<#ty as #library::element::Element>::dtype())
}

fn record(input: &Struct<'_>) -> TokenStream {
    let (name, library) = (input.name, &input.library);
    let fields = input.fields.iter().map(|field| {
        let (text, member, dtype) = (&field.name, &field.member, dtype_of_field(library, field));
        quote!(#library::element::Field::new(#text, ::core::mem::offset_of!(#name, #member), #dtype))
    });
    let text = format!("`{name}` has no dtype: {{}}");
    quote! {
        static DTYPE: ::std::sync::OnceLock<#library::element::DType> = ::std::sync::OnceLock::new();
        let make = || {
            let fields = [#(#fields),*];
            match #library::element::DType::record(fields, ::core::mem::size_of::<#name>()) {
                ::core::result::Result::Ok(dtype) => dtype,
                ::core::result::Result::Err(error) => ::core::panic!(#text, error),
            }
        };
        #library::element::dtype_made_once(&DTYPE, make)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_path_of_the_library_stands_wherever_its_items_are_named() {
        for repr in [quote!(C), quote!(transparent)] {
            let input = syn::parse_quote!(
                #[repr(#repr)]
                #[element(crate = hub::arrays)]
                struct Price(f64);
            );
            let text = element(&Struct::new(&input).unwrap()).to_string();
            assert!(text.contains("hub :: arrays :: element :: Element"), "{text}");
            assert!(!text.contains("crossdock"), "{text}");
        }
    }
}
