//! The records of toys as bytes: numbers take eight bytes, and a list is preceded by its length.

use bytes::Bytes;

/// A record that a toy stores.
pub trait Record: Sized + Default {
    /// Writes the record.
    fn write(&self, out: &mut Writer);

    /// Reads a record that [`write`](Self::write) wrote.
    fn read(from: &mut Reader<'_>) -> Option<Self>;

    /// Encodes the record.
    fn encode(&self) -> Bytes {
        let mut out = Writer(Vec::with_capacity(64));
        self.write(&mut out);
        out.0.into()
    }

    /// Decodes a record. Returns `None` if the bytes are not a record. Empty bytes are the default record.
    fn decode(bytes: &[u8]) -> Option<Self> {
        if bytes.is_empty() {
            return Some(Self::default());
        }
        let mut from = Reader(bytes);
        let record = Self::read(&mut from)?;
        from.0.is_empty().then_some(record)
    }
}

/// A buffer to which a record is written.
pub struct Writer(Vec<u8>);

impl Writer {
    /// Writes a number.
    pub fn number(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_be_bytes());
    }

    /// Writes a list.
    pub fn list<T>(&mut self, list: &[T], mut each: impl FnMut(&mut Self, &T)) {
        self.number(list.len() as u64);
        list.iter().for_each(|item| each(self, item));
    }

    /// Writes a list of numbers.
    pub fn numbers(&mut self, list: &[u64]) {
        self.list(list, |out, value| out.number(*value));
    }
}

/// The rest of the bytes from which a record is read.
pub struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    /// Reads a number.
    pub fn number(&mut self) -> Option<u64> {
        let (first, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_be_bytes(*first))
    }

    /// Reads a list.
    pub fn list<T>(&mut self, mut each: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = usize::try_from(self.number()?).ok()?;
        // Garbage may claim a huge length, which must not be allocated.
        (count <= self.0.len()).then_some(())?;
        (0..count).map(|_| each(self)).collect()
    }

    /// Reads a list of numbers.
    pub fn numbers(&mut self) -> Option<Vec<u64>> {
        self.list(Self::number)
    }
}

/// Encodes numbers as the input or the answer of a call.
pub fn pack(numbers: &[u64]) -> Bytes {
    numbers.iter().flat_map(|value| value.to_be_bytes()).collect::<Vec<_>>().into()
}

/// Decodes an input or an answer that holds exactly `N` numbers.
pub fn unpack<const N: usize>(bytes: &[u8]) -> Option<[u64; N]> {
    let mut from = Reader(bytes);
    let mut numbers = [0; N];
    for number in &mut numbers {
        *number = from.number()?;
    }
    from.0.is_empty().then_some(numbers)
}
