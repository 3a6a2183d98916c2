//! The toys' records as bytes: numbers of eight bytes, lists with their length before them.

use bytes::Bytes;

/// A record that a toy stores.
pub trait Record: Sized + Default {
    /// Writes it.
    fn write(&self, out: &mut Writer);

    /// Reads what [`write`](Self::write) wrote.
    fn read(from: &mut Reader<'_>) -> Option<Self>;

    /// As bytes.
    fn encode(&self) -> Bytes {
        let mut out = Writer(Vec::with_capacity(64));
        self.write(&mut out);
        out.0.into()
    }

    /// From bytes; none from anything else. Empty bytes are the record of one who has done nothing.
    fn decode(bytes: &[u8]) -> Option<Self> {
        if bytes.is_empty() {
            return Some(Self::default());
        }
        let mut from = Reader(bytes);
        let record = Self::read(&mut from)?;
        from.0.is_empty().then_some(record)
    }
}

/// Where a record is written.
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

/// Where a record is read from.
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
        // A list longer than its bytes is garbage, not a reason to allocate.
        (count <= self.0.len()).then_some(())?;
        (0..count).map(|_| each(self)).collect()
    }

    /// Reads a list of numbers.
    pub fn numbers(&mut self) -> Option<Vec<u64>> {
        self.list(Self::number)
    }
}

/// Numbers as bytes: the input or the answer of a call.
pub fn pack(numbers: &[u64]) -> Bytes {
    numbers.iter().flat_map(|value| value.to_be_bytes()).collect::<Vec<_>>().into()
}

/// The numbers in an input or an answer, if it holds exactly so many.
pub fn unpack<const N: usize>(bytes: &[u8]) -> Option<[u64; N]> {
    let mut from = Reader(bytes);
    let mut numbers = [0; N];
    for number in &mut numbers {
        *number = from.number()?;
    }
    from.0.is_empty().then_some(numbers)
}
