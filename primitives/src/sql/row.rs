//! A row that a query found.

use super::{SqlError, SqlErrorKind, SqlValue};

/// A row that a query found: `row.get(0)?`, `row.get("cents")?`.
#[derive(Debug)]
pub struct SqlRow<'a> {
    names: &'a [&'a str],
    values: Vec<SqlValue>,
}

impl<'a> SqlRow<'a> {
    pub(super) fn new(names: &'a [&'a str], values: Vec<SqlValue>) -> Self {
        Self { names, values }
    }

    /// Returns the value of a column, by its index from 0 or by its name.
    #[expect(clippy::needless_pass_by_value, reason = "a place or a name, as it is written")]
    pub fn get<T: FromSql>(&self, column: impl SqlColumn) -> Result<T, SqlError> {
        let place = column.place(self.names).filter(|place| *place < self.values.len());
        let place = place.ok_or_else(|| {
            let message = format!("there is no column {}; there are: {}", column.shown(), self.names.join(", "));
            SqlError::new(SqlErrorKind::Value, message)
        })?;
        T::from_sql(self.values[place].clone()).map_err(|reason| {
            SqlError::new(SqlErrorKind::Value, format!("the column `{}` is {reason}", self.names[place]))
        })
    }
}

/// The index of a column from 0, or its name.
pub trait SqlColumn {
    /// Returns the index of the column among these names.
    fn place(&self, names: &[&str]) -> Option<usize>;

    /// Returns the column as messages show it.
    fn shown(&self) -> String;
}

impl SqlColumn for usize {
    fn place(&self, _: &[&str]) -> Option<usize> {
        Some(*self)
    }

    fn shown(&self) -> String {
        self.to_string()
    }
}

impl SqlColumn for &str {
    fn place(&self, names: &[&str]) -> Option<usize> {
        names.iter().position(|name| name.eq_ignore_ascii_case(self))
    }

    fn shown(&self) -> String {
        format!("`{self}`")
    }
}

/// A type that a column can be read as: numbers, `bool`, `String`, `Vec<u8>`, `Option` of them, and
/// [`SqlValue`].
#[diagnostic::on_unimplemented(
    message = "a column cannot be read as `{Self}`",
    label = "not a type of a column",
    note = "a column is read as a number, `bool`, `String`, `Vec<u8>`, or an `Option` of one"
)]
pub trait FromSql: Sized {
    /// Reads the value. The error says what the value is instead.
    fn from_sql(value: SqlValue) -> Result<Self, String>;
}

fn shown(value: &SqlValue) -> &'static str {
    match value {
        SqlValue::Null => "NULL",
        SqlValue::Integer(_) => "an integer",
        SqlValue::Real(_) => "a real number",
        SqlValue::Text(_) => "text",
        SqlValue::Blob(_) => "a blob",
    }
}

fn not(value: &SqlValue, wanted: &str) -> String {
    format!("{}, not {wanted}", shown(value))
}

macro_rules! integers {
    ($($ty:ty),*) => {$(
        impl FromSql for $ty {
            fn from_sql(value: SqlValue) -> Result<Self, String> {
                match value {
                    SqlValue::Integer(number) => {
                        Self::try_from(number).map_err(|_| format!("{number}, which is no `{}`", stringify!($ty)))
                    }
                    other => Err(not(&other, "an integer")),
                }
            }
        }
    )*};
}

integers!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);

impl FromSql for bool {
    fn from_sql(value: SqlValue) -> Result<Self, String> {
        match value {
            SqlValue::Integer(number) => Ok(number != 0),
            other => Err(not(&other, "an integer")),
        }
    }
}

impl FromSql for f64 {
    fn from_sql(value: SqlValue) -> Result<Self, String> {
        match value {
            SqlValue::Real(number) => Ok(number),
            // SQLite stores a real number without a fraction as an integer, where that is shorter.
            SqlValue::Integer(number) => Ok(number as Self),
            other => Err(not(&other, "a number")),
        }
    }
}

impl FromSql for String {
    fn from_sql(value: SqlValue) -> Result<Self, String> {
        match value {
            SqlValue::Text(text) => Ok(text),
            other => Err(not(&other, "text")),
        }
    }
}

impl FromSql for Vec<u8> {
    fn from_sql(value: SqlValue) -> Result<Self, String> {
        match value {
            SqlValue::Blob(bytes) => Ok(bytes),
            other => Err(not(&other, "a blob")),
        }
    }
}

impl FromSql for SqlValue {
    fn from_sql(value: SqlValue) -> Result<Self, String> {
        Ok(value)
    }
}

impl<T: FromSql> FromSql for Option<T> {
    fn from_sql(value: SqlValue) -> Result<Self, String> {
        match value {
            SqlValue::Null => Ok(None),
            other => T::from_sql(other).map(Some),
        }
    }
}
