//! Migrations: changes to the author's tables, each applied once in the life of a file.
//!
//! For each applied migration, the store records position, name, and a hash of the statements. A list of
//! migrations fits a file if it begins with the applied ones, unchanged and in their order. The function
//! `pending` checks that rule.

use std::fmt;

use crate::stable_hash;

/// A change to the author's tables: SQL statements with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Migration {
    /// The name, unique in its list.
    pub name: String,
    /// The statements.
    pub statements: String,
}

impl Migration {
    /// Returns a hash of the statements. Line endings (LF or CRLF) do not affect the hash.
    pub fn hash(&self) -> u64 {
        // Drop the lowest bit: stores keep the hash in a signed 64-bit integer.
        stable_hash(&[self.statements.replace("\r\n", "\n").as_bytes()]) >> 1
    }
}

/// A migration that was applied to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppliedMigration {
    /// The name of the migration.
    pub name: String,
    /// The [hash](Migration::hash) of its statements.
    pub hash: u64,
}

/// Why the migrations of a program cannot be applied to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MigrationFault {
    /// Two migrations of the list have the same name.
    Doubled(String),
    /// The statements of an applied migration were changed.
    Changed(String),
    /// An applied migration is not in the list.
    Missing(String),
    /// An applied migration is in the list, but at another position.
    Moved {
        /// The applied migration.
        name: String,
        /// The migration that the list has at its position.
        found: String,
    },
    /// The statements of a migration failed; nothing of them was kept.
    Failed {
        /// The migration.
        name: String,
        /// The message of the SQL error.
        reason: String,
    },
}

impl fmt::Display for MigrationFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Doubled(name) => write!(out, "there are two migrations `{name}`: give one of them another name"),
            Self::Changed(name) => write!(
                out,
                "the migration `{name}` was applied to this file and has been changed since: restore its statements, and \
                 write a new migration"
            ),
            Self::Missing(name) => write!(
                out,
                "the migration `{name}` was applied to this file and is not in the list: put it back, or use the program \
                 that knows it"
            ),
            Self::Moved { name, found } => write!(
                out,
                "the migration `{name}` was applied to this file, and `{found}` stands at its place in the list: new \
                 migrations go to the end"
            ),
            Self::Failed { name, reason } => write!(out, "the migration `{name}` failed: {reason}"),
        }
    }
}

/// Returns the migrations of `list` that have not been applied to the file.
pub(crate) fn pending<'a>(
    applied: &[AppliedMigration],
    list: &'a [Migration],
) -> Result<&'a [Migration], MigrationFault> {
    for (place, migration) in list.iter().enumerate() {
        if list[..place].iter().any(|earlier| earlier.name == migration.name) {
            return Err(MigrationFault::Doubled(migration.name.clone()));
        }
    }
    for (place, had) in applied.iter().enumerate() {
        let name = had.name.clone();
        match list.get(place) {
            Some(found) if found.name == name && found.hash() == had.hash => {}
            Some(found) if found.name == name => return Err(MigrationFault::Changed(name)),
            Some(found) if list.iter().any(|migration| migration.name == name) => {
                return Err(MigrationFault::Moved { name, found: found.name.clone() });
            }
            _ => return Err(MigrationFault::Missing(name)),
        }
    }
    Ok(list.get(applied.len()..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(names: &[&str]) -> Vec<Migration> {
        names.iter().map(|name| Migration { name: (*name).to_owned(), statements: format!("of {name}") }).collect()
    }

    fn had(names: &[&str]) -> Vec<AppliedMigration> {
        list(names).iter().map(|one| AppliedMigration { name: one.name.clone(), hash: one.hash() }).collect()
    }

    fn fault(applied: &[&str], given: &[&str]) -> MigrationFault {
        pending(&had(applied), &list(given)).unwrap_err()
    }

    /// W12
    #[test]
    fn a_list_fits_if_it_begins_with_what_was_applied() {
        assert_eq!(pending(&[], &list(&["a", "b"])).unwrap(), list(&["a", "b"]));
        assert_eq!(pending(&had(&["a"]), &list(&["a", "b"])).unwrap(), &list(&["a", "b"])[1..]);
        assert_eq!(pending(&had(&["a", "b"]), &list(&["a", "b"])).unwrap(), []);
        assert_eq!(fault(&["a", "b"], &["a"]), MigrationFault::Missing("b".into()));
        assert_eq!(fault(&["a", "b"], &["b", "c"]), MigrationFault::Missing("a".into()));
        assert_eq!(fault(&["b"], &["a", "b"]), MigrationFault::Moved { name: "b".into(), found: "a".into() });
        assert_eq!(fault(&[], &["a", "a"]), MigrationFault::Doubled("a".into()));
        let changed = Migration { name: "a".into(), statements: "of b".into() };
        assert_eq!(pending(&had(&["a"]), &[changed]), Err(MigrationFault::Changed("a".into())));
    }

    /// W12
    #[test]
    fn another_ending_of_lines_is_no_change() {
        let one = |statements: &str| Migration { name: "a".into(), statements: statements.into() }.hash();
        assert_eq!(one("CREATE\r\nTABLE"), one("CREATE\nTABLE"));
        assert_ne!(one("CREATE\nTABLE"), one("CREATE TABLE"));
    }
}
