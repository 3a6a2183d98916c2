//! Inputs that are too long for the record (W11). Each lies in a row of its own. Many inputs share rows, so
//! that a single commit can ask for thousands of steps.

use std::collections::BTreeSet;

use bytes::{BufMut, Bytes, BytesMut};
use drystone_runtime::{Name, Outcome, Range, Refusal};

use crate::{
    Context,
    workflow::{
        Workflow,
        engine::{
            turn::{Delivery, Halt, Turning, raw},
            turn_commit::{Place, TurnCommit},
        },
        record::{
            cached_json::Written,
            pending::{Code, Part, Pending, Stepping, Waiting},
        },
        replay::journal,
    },
};

/// The longest input that lies in the record. If `MANY` operations or more are pending, the limit is a
/// sixteenth of it, because the length of a record is limited.
const INPUT_BYTES_MAX: usize = 1 << 10;
const MANY: usize = 64;

/// The bytes that a shared row holds at most, and the longest input that shares a row. A step that needs one
/// part reads the whole row, so rows stay short.
const SHARED_BYTES_MAX: usize = 16 << 10;
const PART_BYTES_MAX: usize = 4 << 10;

/// The shared rows of inputs that a turn fills.
#[derive(Default)]
pub(in crate::workflow::engine) struct Shared {
    /// The row that is being filled, for inputs that go with their operations and for inputs that stay.
    open: [Option<u64>; 2],
    /// Rows with an input that an undo needs.
    noted: BTreeSet<u64>,
}

/// The inputs of the pending operations, and the rows in which they lie.
pub(in crate::workflow::engine) struct Inputs<'t> {
    /// The number of the last row.
    last: &'t mut u64,
    pending: &'t [Written<Pending>],
    shared: &'t mut Shared,
    commit: &'t mut TurnCommit,
    generation: u32,
    delivery: Delivery,
}

impl<W: Workflow> Turning<'_, W> {
    pub(in crate::workflow::engine) fn inputs(&mut self) -> Inputs<'_> {
        let (generation, delivery) = (self.record.generation, self.delivery);
        let record = &mut *self.record;
        let (last, pending, shared) = (&mut record.inputs, record.pending.as_slice(), &mut self.shared);
        Inputs { last, pending, shared, commit: &mut self.commit, generation, delivery }
    }

    /// Forgets the input and the other rows of an operation. The operation is no longer among the pending
    /// ones.
    pub(in crate::workflow::engine) fn forget_input(&mut self, pending: &Pending) {
        self.forget_traces(pending);
        self.inputs().forget(pending);
    }

    /// Returns an input, even if this turn has put its row.
    pub(in crate::workflow::engine) fn input_of(&self, code: &Code) -> Result<Bytes, Halt> {
        let lane = inputs_lane(self.record.generation);
        match code {
            Code::Input(input) => Ok(Bytes::copy_from_slice(input.get().as_bytes())),
            Code::Row(number) => self.row(&lane, *number),
            Code::Part(part) => {
                let row = self.row(&lane, part.row)?;
                part.of(&row).ok_or_else(|| Halt::Park(format!("{lane}[{}] is too short", part.row)))
            }
            Code::Body(_) => Ok(Bytes::new()),
        }
    }
}

impl Inputs<'_> {
    /// Stores an input. A short input lies in the record, so that a step can run again without the body; a
    /// long one lies in a row. An input `stays` if an undo may need the input later.
    pub(in crate::workflow::engine) fn store(mut self, input: &Bytes, stays: bool) -> Code {
        let is_many = self.pending.len() >= MANY;
        let longest = if is_many { INPUT_BYTES_MAX / 16 } else { INPUT_BYTES_MAX };
        if input.len() <= longest
            && let Ok(raw) = raw(input)
        {
            return Code::Input(raw);
        }
        if (is_many || self.delivery == Delivery::Anew) && input.len() <= PART_BYTES_MAX {
            return Code::Part(self.share(input, stays));
        }
        *self.last += 1;
        self.commit.put(self.place(*self.last), input.clone());
        Code::Row(*self.last)
    }

    /// Appends an input to the list that its shared row is, or opens a new row if there is no room.
    fn share(&mut self, input: &Bytes, stays: bool) -> Part {
        let place = self.shared.open[usize::from(stays)].map(|row| (row, self.place(row)));
        let open = place.and_then(|(row, place)| Some((row, self.commit.body_put(&place)?)));
        let (row, from) = match open.filter(|(_, list)| list.len() + input.len() < SHARED_BYTES_MAX) {
            Some((row, list)) => (row, append(list, input)),
            None => self.open_shared(input, stays),
        };
        Part { row, from, bytes: u32::try_from(input.len()).unwrap_or(u32::MAX), stays }
    }

    /// Opens a shared row with its first input. Returns the number of the row, and where the input begins.
    fn open_shared(&mut self, input: &Bytes, stays: bool) -> (u64, u32) {
        *self.last += 1;
        let mut list = Bytes::new();
        let from = append(&mut list, input);
        self.commit.put(self.place(*self.last), list);
        self.shared.open[usize::from(stays)] = Some(*self.last);
        (*self.last, from)
    }

    /// Replaces the long input of a step by that of its undo.
    pub(in crate::workflow::engine) fn replace(self, number: u64, input: &Bytes) -> Code {
        self.commit.replace(self.place(number), input.clone());
        Code::Row(number)
    }

    /// Returns the lane and the key of the row with this number.
    fn place(&self, number: u64) -> Place {
        (inputs_lane(self.generation), journal::row_key(number))
    }

    /// Forgets the input of an operation that is no longer among the pending ones.
    fn forget(&mut self, pending: &Pending) {
        match input_in(pending) {
            Some(Code::Row(number)) => self.commit.remove_if_room(self.place(*number)),
            Some(Code::Part(part)) if !part.stays || self.is_put_in_vain(*part) => self.forget_part(*part),
            _ => {}
        }
    }

    /// Notes that an undo needs the row of this input.
    pub(in crate::workflow::engine) fn note(&mut self, input: Option<&Code>) {
        if let Some(Code::Part(part)) = input {
            self.shared.noted.insert(part.row);
        }
    }

    /// Whether a row that was to stay was put by this turn, and no undo needs it.
    fn is_put_in_vain(&self, part: Part) -> bool {
        !self.shared.noted.contains(&part.row) && self.commit.puts(&self.place(part.row))
    }

    /// Removes a shared row together with its last input.
    fn forget_part(&mut self, part: Part) {
        let is_in_it =
            |pending: &Pending| matches!(input_in(pending), Some(Code::Part(other)) if other.row == part.row);
        let row = self.place(part.row);
        if !self.pending.iter().any(|pending| is_in_it(pending)) && !self.commit.removes(&row) {
            self.commit.remove_if_room(row);
        }
    }
}

impl Part {
    /// Returns this part of its row; `None` if the row is too short.
    fn of(self, row: &Bytes) -> Option<Bytes> {
        let (from, bytes) = (self.from as usize, self.bytes as usize);
        let until = from.checked_add(bytes).filter(|until| *until <= row.len())?;
        Some(row.slice(from..until))
    }
}

/// Appends a text to a list. Returns where the text begins in it.
fn append(list: &mut Bytes, text: &[u8]) -> u32 {
    let mut extended = BytesMut::with_capacity(list.len() + text.len() + 2);
    match list.strip_suffix(b"]") {
        Some(open) => {
            extended.put_slice(open);
            extended.put_u8(b',');
        }
        None => extended.put_u8(b'['),
    }
    let from = u32::try_from(extended.len()).unwrap_or(u32::MAX);
    extended.put_slice(text);
    extended.put_u8(b']');
    *list = extended.freeze();
    from
}

fn input_in(pending: &Pending) -> Option<&Code> {
    match &pending.what {
        Waiting::Step(Stepping { code, .. }) => Some(code),
        Waiting::Child(childing) => childing.input.as_ref(),
        Waiting::Sleep(_) | Waiting::Event(_) | Waiting::Until => None,
    }
}

/// The lane of inputs that are too long for the record.
pub(in crate::workflow::engine) fn inputs_lane(generation: u32) -> Name {
    Name::from(format!("inputs/{generation}"))
}

/// The prefix of a reference to an input, where an input is expected. No JSON begins with it.
const PLACE: &str = "@";

/// Returns the input of a step for its work, or a reference to the row of the input. With a reference, a
/// step among thousands need not read the record.
pub(in crate::workflow::engine) fn handed(generation: u32, code: &Code) -> Bytes {
    match code {
        Code::Input(input) => Bytes::copy_from_slice(input.get().as_bytes()),
        Code::Row(number) => format!("{PLACE}{generation}/{number}").into(),
        Code::Part(Part { row, from, bytes, .. }) => format!("{PLACE}{generation}/{row}/{from}/{bytes}").into(),
        Code::Body(_) => Bytes::new(),
    }
}

/// Reads a reference: the generation, the row, and the part of the row.
fn place(handed: &[u8]) -> Option<(u32, u64, Option<Part>)> {
    let mut numbers = std::str::from_utf8(handed).ok()?.strip_prefix(PLACE)?.split('/').map(str::parse::<u64>);
    let (generation, row) = (u32::try_from(numbers.next()?.ok()?).ok()?, numbers.next()?.ok()?);
    let (Some(from), Some(bytes)) = (numbers.next(), numbers.next()) else { return Some((generation, row, None)) };
    let (from, bytes) = (u32::try_from(from.ok()?).ok()?, u32::try_from(bytes.ok()?).ok()?);
    Some((generation, row, Some(Part { row, from, bytes, stays: false })))
}

/// Returns the input of a step, which is read from its row if the work has a reference.
pub(in crate::workflow::engine) async fn given(handed: Bytes, context: &Context) -> Result<Bytes, Outcome> {
    match place(&handed) {
        // Boxed: most inputs are in memory, and their steps should not have a future as large as that of a
        // read.
        Some(place) => Box::pin(read(place, context)).await,
        None => Ok(handed),
    }
}

/// Reads an input from its row.
async fn read((generation, row, part): (u32, u64, Option<Part>), context: &Context) -> Result<Bytes, Outcome> {
    let key = journal::row_key(row);
    let rows = context.rows(Range::at(inputs_lane(generation), key.clone())).await;
    let rows = rows.map_err(|error| Outcome::Refused(Refusal::Unavailable(error.to_string())))?;
    let row = rows.into_iter().find(|row| row.key == key).map(|row| row.body).unwrap_or_default();
    Ok(part.map_or(Some(row.clone()), |part| part.of(&row)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// W11
    #[test]
    fn inputs_that_share_a_row_come_back_as_they_were() {
        let texts = [&b"[1]"[..], br#"["a]",{}]"#, b"[]"];
        let (mut list, mut parts) = (Bytes::new(), Vec::new());
        for text in texts {
            let from = append(&mut list, text);
            parts.push(Part { row: 7, from, bytes: text.len() as u32, stays: false });
        }
        assert_eq!(list, &br#"[[1],["a]",{}],[]]"#[..]);
        for (part, text) in parts.into_iter().zip(texts) {
            assert_eq!(part.of(&list).unwrap(), text);
            let handed = handed(2, &Code::Part(part));
            assert_eq!(place(&handed), Some((2, 7, Some(part))));
        }
        assert_eq!(place(&handed(3, &Code::Row(9))), Some((3, 9, None)));
        assert_eq!(place(br#"["@1/2"]"#), None);
    }
}
