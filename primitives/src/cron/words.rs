//! Error messages that are built at compile time, when there is no `format!`.

/// A short text. Anything that does not fit is left out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Words {
    bytes: [u8; BYTES_MAX],
    len: usize,
}

const BYTES_MAX: usize = 240;

impl Words {
    pub(crate) const fn new() -> Self {
        Self { bytes: [0; BYTES_MAX], len: 0 }
    }

    pub(crate) const fn text(self, text: &str) -> Self {
        self.bytes(text.as_bytes())
    }

    /// Appends the author's own text, in backticks.
    pub(crate) const fn quoted(self, text: &[u8]) -> Self {
        self.bytes(b"`").bytes(text).bytes(b"`")
    }

    pub(crate) const fn number(self, number: u64) -> Self {
        let digit = [b'0' + (number % 10) as u8];
        if number < 10 { self.bytes(&digit) } else { self.number(number / 10).bytes(&digit) }
    }

    pub(crate) const fn as_str(&self) -> &str {
        match str::from_utf8(self.bytes.split_at(self.len).0) {
            Ok(text) => text,
            // A letter of the author's text was cut in two.
            Err(_) => "this is not a cron expression; write for example \"0 3 * * *\" for three at night",
        }
    }

    const fn bytes(mut self, bytes: &[u8]) -> Self {
        let mut at = 0;
        while at < bytes.len() && self.len < BYTES_MAX {
            self.bytes[self.len] = bytes[at];
            (self.len, at) = (self.len + 1, at + 1);
        }
        self
    }
}

impl std::fmt::Debug for Words {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.as_str())
    }
}
