//! What the entities of this program do not understand.

use drystone_runtime::{Error, Next};

pub(super) fn unknown(definition: &str, verb: &str, known: &[&str]) -> Next {
    let known = known.iter().map(ToString::to_string).collect();
    Next::Refuse(Error::UnknownVerb { definition: definition.to_owned(), verb: verb.to_owned(), known })
}

pub(super) fn malformed(verb: &str) -> Next {
    Next::Refuse(Error::Malformed { verb: verb.to_owned(), reason: "there is no operation in it".into() })
}
