//! The author's own tables: statements, their sandbox, migrations and transactions.

pub(crate) mod migrations;
pub(crate) mod refusal;
pub(crate) mod sandbox;
pub(crate) mod scripts;
pub(crate) mod statements;
