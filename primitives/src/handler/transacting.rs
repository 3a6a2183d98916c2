//! Transactional hooks: the row that claims a hook, and how the hook runs (W6).
//!
//! The commit after which a hook should run puts a row, its *claim*. The transaction of the hook runs the
//! author's code if the claim is unchanged, and puts what the code left (its value and the state) into that
//! row. The turn that takes this into the entity removes the row. So a hook that begins again after a crash
//! finds the result, and its code is not run again. A commit after which the hook should no longer run
//! removes the row, too: from then on no transaction of the hook runs. Steps do the same; see
//! [`sql`](crate::sql).

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use drystone_runtime::{
    Borrow, Entity, Millis, Name, Outcome, Produced, Range, Row, Version, Work,
    store::sql::{ScriptCode, Scripted},
};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::{
    Author, Record,
    head::Head,
    running::{Piecework, code_of, failed, given},
    turning::{Open, shown},
};
use crate::{
    Acts, Env, OfKind, Transaction, decode, encode,
    kind::{Kind, Piece, Shown},
    primitive::{Action, Given},
};

/// The content of a claim until its hook has run. No hook can leave this content, because it is not JSON.
const WAITED_FOR: &[u8] = b"waited for";

/// The lane of the claims. Lanes of kinds have no slash in their names.
pub(super) const LANE: &str = "drystone/transactions";

/// The hooks of one entity that have a claim at once. A commit that ends all of them removes as many rows
/// (K3).
const CLAIMS_MAX: usize = 400;

/// The time limit of a transaction: the default, and the highest `timeout`. Nothing else is written during a
/// transaction.
const LIMIT: Duration = Duration::from_secs(1);
const LIMIT_MAX: Duration = Duration::from_secs(10);

/// The longest value and the longest state.
const BYTES_MAX: usize = 1 << 20;

/// The result of the author's code, as the row stores it.
#[derive(Serialize, Deserialize)]
struct Left {
    /// The value for `#[apply]`, or the answer of an action.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    value: Option<Box<RawValue>>,
    /// The state, if it changed.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    state: Option<Box<RawValue>>,
}

/// Reads a field that is present. `null` is a value, too: that of `()`, or of a state that is an empty
/// `Option`.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Deserialize::deserialize(from).map(Some)
}

/// Returns the names of the transactional hooks and actions of a primitive.
pub(super) fn scripts<T: OfKind>() -> Vec<Name> {
    let hooks = T::CODE.hooks.iter().filter(|hook| hook.transaction).map(|hook| Name::new(hook.name));
    let actions = T::CODE.actions.iter().filter(|action| action.transaction.is_some());
    let actions = actions.map(|action| Name::new(action.name));
    hooks.chain(T::CODE.destroy_transaction.then(|| Name::new("destroy"))).chain(actions).collect()
}

/// Returns how a recorded action borrows the struct.
pub(super) fn borrow_of_action<T: OfKind>(work: &str) -> Borrow {
    let writes = action_of::<T>(work).is_none_or(|action| action.writes);
    if writes { Borrow::Exclusive } else { Borrow::Shared }
}

fn action_of<T: OfKind>(work: &str) -> Option<&'static Action> {
    let Piecework::Action(name) = Piecework::parse(work) else { return None };
    T::CODE.actions.iter().find(|action| action.name == name)
}

/// Whether a piece of work is a transactional hook.
pub(super) fn is_transactional<T: OfKind>(piece: Piecework<'_>) -> bool {
    match piece {
        Piecework::Destroy => T::CODE.destroy_transaction,
        Piecework::Hook(hook, _) => is_transactional_hook::<T>(hook),
        _ => false,
    }
}

pub(super) fn is_transactional_hook<T: OfKind>(name: &str) -> bool {
    T::CODE.hooks.iter().any(|hook| hook.transaction && hook.name == name)
}

/// Returns the pieces that may run: of transactional hooks, no more than may have a claim.
pub(super) fn within_limit<T: OfKind>(pieces: Vec<Piece>) -> impl Iterator<Item = Piece> {
    let mut claims = 0;
    pieces.into_iter().filter(move |piece| {
        claims += usize::from(is_transactional_hook::<T>(piece.hook));
        claims <= CLAIMS_MAX
    })
}

impl<T, D, A> Author<T, D, A>
where
    T: Acts<D, A>,
    D: Send + Sync + 'static,
    A: 'static,
{
    /// Puts the claims of the hooks that should run after this turn, and removes the claims of hooks that
    /// should not.
    pub(super) fn claim(&self, open: &mut Open<'_, Record<T>>) {
        let has_hooks = T::CODE.destroy_transaction || T::CODE.hooks.iter().any(|hook| hook.transaction);
        // All rows of an entity go with the entity.
        if open.turn.commit.destroy || !has_hooks && open.claims.is_empty() {
            return;
        }
        let wanted = self.wanted(open);
        let before = std::mem::replace(&mut open.claims, wanted);
        let (after, commit) = (&open.claims, &mut open.turn.commit);
        let ended = before.iter().filter(|name| !after.contains(name));
        commit.remove.extend(ended.map(|name| row(name)));
        let begun = after.iter().filter(|name| !before.contains(name)).map(|name| row(name));
        commit.put.extend(begun.map(|(lane, key)| Row { lane, key, body: Bytes::from_static(WAITED_FOR) }));
    }

    /// Returns how long the transaction of a hook may take; `None` if the hook has no claim.
    pub(super) fn transaction_limit(
        &self,
        head: &Head<Record<T>>,
        entity: &Entity,
        work: &Work,
        now: Millis,
    ) -> Option<Duration> {
        let name = work.id.as_str();
        if head.asked.iter().any(|asked| asked.work == name) {
            let said = action_of::<T>(name).and_then(|action| action.transaction.flatten());
            return Some(said.unwrap_or(LIMIT).min(LIMIT_MAX));
        }
        if !head.claims.iter().any(|claim| claim == name) {
            return None;
        }
        let pieces = self.kind.work(&shown(&head.record, entity, now)).into_iter();
        let said = pieces.filter(|piece| piece.is_named(name)).find_map(|piece| piece.timeout);
        Some(said.unwrap_or(LIMIT).min(LIMIT_MAX))
    }

    /// Returns the names of the transactional hooks that should run after this turn.
    fn wanted(&self, open: &Open<'_, Record<T>>) -> Vec<String> {
        let turn = &open.turn;
        if let Some(ending) = &open.ending {
            let is_due = T::CODE.destroy_transaction && ending.is_due(turn.now);
            return is_due.then(|| "destroy/1".to_owned()).into_iter().collect();
        }
        let entity = turn.entity();
        let word = turn.commit.status.as_ref().or(entity.map(|entity| &entity.status)).map(|status| &status.word);
        let shown = Shown {
            id: entity.map_or(Version(0), |entity| entity.id),
            definition: self.name.as_str(),
            record: &turn.record,
            word: word.map_or("", |word| word.as_str()),
            alarm: turn.commit.alarm.apply(entity.and_then(|entity| entity.alarm)).map(Into::into),
            now: turn.now.into(),
        };
        let is_ended = |piece: &Piece| open.applying.iter().any(|applying| applying.number == piece.number);
        let pieces = within_limit::<T>(self.kind.work(&shown));
        let claimed = pieces.filter(|piece| is_transactional_hook::<T>(piece.hook) && !is_ended(piece));
        claimed.map(|piece| format!("{}/{}", piece.hook, piece.number)).collect()
    }
}

fn row(name: &str) -> (Name, Bytes) {
    (Name::new(LANE), Bytes::copy_from_slice(name.as_bytes()))
}

/// Runs the code of a transactional hook, unless a transaction has run it before.
pub(super) async fn transacted<T, D, A>(state: Bytes, limit: Duration, work: Work, env: Env<D, A>) -> Outcome
where
    T: Acts<D, A>,
    D: Send + Sync + 'static,
    A: 'static,
{
    let piece = Piecework::parse(work.id.as_str());
    let (before, given) = match piece {
        Piecework::Action(_) => match parameters(&work, &env).await {
            Ok(Parameters::Given(body)) => (body.clone(), Given { body, ..Given::default() }),
            Ok(Parameters::Left(left)) => return taken(&left).unwrap_or_else(Outcome::refused),
            Err(reason) => return Outcome::refused(reason),
        },
        _ => match given(piece, &work, &env, <T::Kind as Kind>::mark_in).await {
            Ok(given) => (Bytes::from_static(WAITED_FOR), given),
            Err(reason) => return Outcome::refused(reason),
        },
    };
    let (name, desk) = (code_of(piece).into_owned(), env.context().desk());
    let script: ScriptCode = Arc::new(move |statements| {
        let sql = Transaction::inside(statements, desk.clone());
        run::<T, D, A>(&name, &state, given.clone(), sql)
    });
    let scripted = env.context().transact(row(work.id.as_str()), before, limit, script).await;
    match scripted {
        Ok(Scripted::Done(left)) => taken(&left).unwrap_or_else(Outcome::refused),
        Ok(Scripted::Ended(outcome)) => outcome,
        // The hook should no longer run, so this outcome is ignored.
        Ok(Scripted::Gone | Scripted::Fenced) => Outcome::refused("nobody waits for it"),
        Err(error) => Outcome::refused(error.to_string()),
    }
}

/// The content of the claim of an action.
enum Parameters {
    /// The action has not run: its parameters.
    Given(Bytes),
    /// The action has run: its result.
    Left(Bytes),
}

async fn parameters<D, A>(work: &Work, env: &Env<D, A>) -> Result<Parameters, String> {
    let (lane, key) = row(work.id.as_str());
    let rows = env.context().rows(Range::at(lane, key.clone())).await.map_err(|error| error.to_string())?;
    let claim = rows.into_iter().find(|row| row.key == key).ok_or("nobody waits for it")?;
    let is_given = claim.body.first() == Some(&b'[');
    Ok(if is_given { Parameters::Given(claim.body) } else { Parameters::Left(claim.body) })
}

/// Runs the author's code on a state of its own, because the code may run more than once.
fn run<T: Acts<D, A>, D, A>(
    name: &str,
    before: &Bytes,
    given: Given,
    mut sql: Transaction<'_>,
) -> Result<Bytes, Box<Outcome>> {
    let mut state = T::codec().read_part("state", before).map_err(refused)?;
    let value = state.transact(name, given, &mut sql).map_err(|thrown| Box::new(failed(thrown)))?;
    sql.finish().map_err(|error| refused(error.to_string()))?;
    let after = super::running::written(&state).map_err(refused)?;
    for (noun, bytes) in [("what it returned", &value), ("the state it left", &after)] {
        if bytes.len() > BYTES_MAX {
            let length = bytes.len();
            return Err(refused(format!("{noun} has {length} bytes, more than {BYTES_MAX}")));
        }
    }
    left(&value, (after != *before).then_some(&after)).map_err(refused)
}

fn refused(reason: String) -> Box<Outcome> {
    Box::new(Outcome::refused(reason))
}

fn left(value: &Bytes, state: Option<&Bytes>) -> Result<Bytes, String> {
    let raw = |bytes: &Bytes| decode::<Box<RawValue>>(bytes);
    let value = (!value.is_empty()).then(|| raw(value)).transpose()?;
    encode(&Left { value, state: state.map(raw).transpose()? })
}

/// Returns the outcome of a hook from its result, which may be from before a crash.
fn taken(left: &Bytes) -> Result<Outcome, String> {
    let Left { value, state } = decode(left)?;
    let bytes = |raw: Box<RawValue>| Bytes::copy_from_slice(raw.get().as_bytes());
    let value = value.map_or_else(Bytes::new, bytes);
    Ok(Outcome::Ok(Produced { value, state: state.map(bytes), ..Produced::default() }))
}
