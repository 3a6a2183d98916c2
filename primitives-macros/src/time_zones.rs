//! The names of the time zones in jiff's database.

use jiff::tz::TimeZoneDatabase;
use proc_macro2::TokenStream;
use quote::quote;

/// Generates the list of all names, sorted.
pub(crate) fn names() -> TokenStream {
    let database = TimeZoneDatabase::bundled();
    let mut names: Vec<String> = database.available().map(|name| name.to_string()).collect();
    names.sort_unstable();
    quote!(&[#(#names),*])
}
