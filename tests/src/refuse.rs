//! Refusals of calls that the entities of these programs do not understand.

use drystone_runtime::{Error, Next};

pub(crate) fn unknown(definition: &str, verb: &str, known: &[&str]) -> Next {
    let known = known.iter().map(ToString::to_string).collect();
    Next::Refuse(Error::UnknownVerb { definition: definition.to_owned(), verb: verb.to_owned(), known })
}

pub(crate) fn malformed(verb: &str) -> Next {
    Next::Refuse(Error::Malformed { verb: verb.to_owned(), reason: "its input is too short".into() })
}
