//! The parameters of a statement.

use super::{SqlError, SqlErrorKind, SqlValue};

/// A value that can be a parameter of a statement: numbers, `bool`, text, bytes, `Option` of them, and
/// [`SqlValue`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be given to a statement",
    label = "not a value of SQL's",
    note = "a parameter is a number, `bool`, text, bytes (`Vec<u8>`, `&[u8]`), or an `Option` of one"
)]
pub trait SqlParam {
    /// Returns the value as SQL has it.
    fn value(&self) -> Result<SqlValue, SqlError>;
}

/// The parameters of a statement, `?1` first: a tuple of up to 12 values, `()` for none, or a slice or an
/// array of values of one type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the parameters of a statement",
    label = "not a tuple of values",
    note = "write a tuple: `(total,)`, `(name, total)`, or `()` if there are none"
)]
pub trait SqlParams {
    /// Returns the values as SQL has them, in order.
    fn values(self) -> Result<Vec<SqlValue>, SqlError>;
}

macro_rules! integers {
    ($($ty:ty),*) => {$(
        impl SqlParam for $ty {
            fn value(&self) -> Result<SqlValue, SqlError> {
                let number = i64::try_from(*self).map_err(|_| {
                    SqlError::new(SqlErrorKind::Value, format!("{self} does not fit into an integer of SQL's"))
                })?;
                Ok(SqlValue::Integer(number))
            }
        }
    )*};
}

integers!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);

macro_rules! plain {
    ($($ty:ty: $self:ident => $value:expr;)*) => {$(
        impl SqlParam for $ty {
            fn value(&$self) -> Result<SqlValue, SqlError> {
                Ok($value)
            }
        }
    )*};
}

plain! {
    bool: self => SqlValue::Integer(i64::from(*self));
    f32: self => SqlValue::Real(f64::from(*self));
    f64: self => SqlValue::Real(*self);
    str: self => SqlValue::Text(self.to_owned());
    String: self => SqlValue::Text(self.clone());
    [u8]: self => SqlValue::Blob(self.to_vec());
    Vec<u8>: self => SqlValue::Blob(self.clone());
    SqlValue: self => self.clone();
}

impl<T: SqlParam> SqlParam for Option<T> {
    fn value(&self) -> Result<SqlValue, SqlError> {
        self.as_ref().map_or(Ok(SqlValue::Null), SqlParam::value)
    }
}

impl<T: SqlParam + ?Sized> SqlParam for &T {
    fn value(&self) -> Result<SqlValue, SqlError> {
        (**self).value()
    }
}

impl SqlParams for () {
    fn values(self) -> Result<Vec<SqlValue>, SqlError> {
        Ok(Vec::new())
    }
}

impl<T: SqlParam> SqlParams for &[T] {
    fn values(self) -> Result<Vec<SqlValue>, SqlError> {
        self.iter().map(SqlParam::value).collect()
    }
}

impl<T: SqlParam, const N: usize> SqlParams for [T; N] {
    fn values(self) -> Result<Vec<SqlValue>, SqlError> {
        self.iter().map(SqlParam::value).collect()
    }
}

macro_rules! tuples {
    ($(($($name:ident $index:tt),+))*) => {$(
        impl<$($name: SqlParam),+> SqlParams for ($($name,)+) {
            fn values(self) -> Result<Vec<SqlValue>, SqlError> {
                Ok(vec![$(self.$index.value()?),+])
            }
        }
    )*};
}

tuples! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11)
}
