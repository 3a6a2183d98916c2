//! The representation of our values in columns.

use bytes::Bytes;
use rusqlite::{
    Error, Row, ToSql,
    types::{FromSqlError, ToSqlOutput, Type, Value, ValueRef},
};

use crate::{Millis, Name, Version};

/// Bytes that people may want to look at: stored as text if they are text, otherwise as a blob. Both are read
/// back unchanged.
pub(super) struct Payload<'a>(pub(super) &'a [u8]);

impl ToSql for Payload<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        // A NUL ends a text for half of SQLite's functions.
        let is_text = !self.0.contains(&0) && std::str::from_utf8(self.0).is_ok();
        Ok(ToSqlOutput::Borrowed(if is_text { ValueRef::Text(self.0) } else { ValueRef::Blob(self.0) }))
    }
}

/// Returns the bits of a number, because SQLite's integers are signed. Such a number is only compared for
/// equality.
pub(super) fn bits(number: u64) -> i64 {
    number as i64
}

/// Returns the number with these bits.
pub(super) fn number(bits: i64) -> u64 {
    bits as u64
}

/// A version as a signed integer. A version that does not fit is refused; we never assign such a version.
pub(super) struct Signed(pub(super) Version);

impl ToSql for Signed {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let signed = i64::try_from(self.0.0).map_err(|error| Error::ToSqlConversionFailure(Box::new(error)))?;
        Ok(ToSqlOutput::Owned(Value::Integer(signed)))
    }
}

/// Returns the bound of a scan by version. Beyond SQLite's integers there are no versions.
pub(super) fn at_most(version: Version) -> i64 {
    i64::try_from(version.0).unwrap_or(i64::MAX)
}

pub(super) fn version(row: &Row<'_>, column: usize) -> Result<Version, Error> {
    row.get(column).map(|found| Version(number(found)))
}

pub(super) fn millis(row: &Row<'_>, column: usize) -> Result<Millis, Error> {
    row.get(column).map(Millis)
}

pub(super) fn name(row: &Row<'_>, column: usize) -> Result<Name, Error> {
    row.get::<_, String>(column).map(Name::from)
}

pub(super) fn optional_name(row: &Row<'_>, column: usize) -> Result<Option<Name>, Error> {
    Ok(row.get::<_, Option<String>>(column)?.map(Name::from))
}

pub(super) fn bytes(row: &Row<'_>, column: usize) -> Result<Bytes, Error> {
    match row.get_ref(column)? {
        ValueRef::Text(found) | ValueRef::Blob(found) => Ok(Bytes::copy_from_slice(found)),
        other => Err(damaged(column, other.data_type())),
    }
}

/// Returns the error for a column with a value that we never write.
pub(super) fn damaged(column: usize, found: Type) -> Error {
    Error::FromSqlConversionFailure(column, found, Box::new(FromSqlError::InvalidType))
}
