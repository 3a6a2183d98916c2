//! Scripts, messages of transactions, and migrations: the promises of a store with SQL beyond the contract.
//!
//! The SQL of the cases has no parameters and only the type `INTEGER`, so that every dialect accepts it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;

use crate::{
    Entity, Epoch, Key, Outcome, Partition,
    store::{
        Letter, Outgoing, Write,
        conformance::fixture::{World, destroy, key, key_in, message, partition, put, worker},
        migration::{Migration, MigrationFault},
        sql::{Claim, Script, ScriptCode, Scripted, Sql, SqlValue, Statements},
    },
};

const LANE: &str = "scripts";

/// The content of a row while its script has not been run.
const BEFORE: &[u8] = b"script";

fn sql(world: &World) -> &dyn Sql {
    world.store.sql().expect("this suite is for stores with SQL")
}

async fn transact(world: &World, scripts: &[Script]) -> Vec<Scripted> {
    sql(world).transact(scripts).await.expect("scripts are answered")
}

async fn transact_one(world: &World, script: Script) -> Scripted {
    transact(world, &[script]).await.remove(0)
}

/// Binds an entity with the row of one script.
async fn bound(world: &mut World, key: &Key) -> (Entity, Claim) {
    let entity = world.bind(key).await;
    let (after, write) = world.touch(&entity);
    world.applied(Write { rows: put(LANE, [BEFORE]), ..write }).await;
    let claim = Claim {
        owned: owned(world, key),
        entity: entity.id,
        lane: LANE.into(),
        key: Bytes::from_static(BEFORE),
        before: Bytes::from_static(BEFORE),
    };
    (after, claim)
}

fn owned(world: &World, key: &Key) -> (Partition, Epoch) {
    (partition(key), world.epochs[&partition(key)])
}

fn script(claim: Option<Claim>, code: ScriptCode) -> Script {
    Script { claim, fence: None, limit: Duration::from_secs(10), code }
}

/// Returns code that writes this number into the author's table and returns it.
fn write(number: i64) -> ScriptCode {
    Arc::new(move |statements| {
        insert(statements, number);
        Ok(Bytes::from(number.to_string()))
    })
}

fn insert(statements: &mut dyn Statements, number: i64) {
    let inserted = statements.execute(&format!("INSERT INTO numbers VALUES ({number})"), &[]);
    assert_eq!(inserted, Ok(1));
}

/// Returns code that writes a number and fails.
fn write_and_fail(number: i64) -> ScriptCode {
    Arc::new(move |statements| {
        insert(statements, number);
        Err(Box::new(Outcome::Failed(Bytes::from_static(b"as asked"))))
    })
}

async fn make_table(world: &World) {
    let code: ScriptCode = Arc::new(|statements| {
        statements.batch("CREATE TABLE numbers (number INTEGER NOT NULL)").expect("a table can be made");
        Ok(Bytes::new())
    });
    assert!(matches!(transact_one(world, script(None, code)).await, Scripted::Done(_)));
}

/// Returns the numbers in the author's table.
async fn numbers(world: &World) -> Vec<i64> {
    let code: ScriptCode = Arc::new(|statements| {
        let mut numbers = Vec::new();
        let asked = statements.query("SELECT number FROM numbers ORDER BY number", &[], &mut |_, values| {
            match values[0] {
                SqlValue::Integer(number) => numbers.push(number.to_string()),
                ref other => panic!("a number is read as {other:?}"),
            }
            Ok(())
        });
        asked.expect("the table can be read");
        Ok(Bytes::from(numbers.join(",")))
    });
    let Scripted::Done(text) = transact_one(world, script(None, code)).await else { panic!("it has no claim") };
    let text = String::from_utf8(text.to_vec()).expect("numbers are text");
    text.split(',').filter(|number| !number.is_empty()).map(|number| number.parse().expect("a number")).collect()
}

async fn row(world: &World, claim: &Claim) -> Option<Bytes> {
    let rows = world.range(claim.entity, crate::Range::first(LANE, 2)).await;
    rows.into_iter().next().map(|row| row.body)
}

fn done(scripted: &Scripted) -> Option<&[u8]> {
    if let Scripted::Done(value) = scripted { Some(value) } else { None }
}

/// W6
pub async fn a_script_writes_its_rows_and_its_record(world: &mut World) {
    make_table(world).await;
    let (_, claim) = bound(world, &key("a")).await;
    let scripted = transact_one(world, script(Some(claim.clone()), write(7))).await;
    assert_eq!(done(&scripted), Some(&b"7"[..]));
    assert_eq!((numbers(world).await, row(world, &claim).await), (vec![7], Some(Bytes::from_static(b"7"))));
}

/// W6
pub async fn a_script_that_was_run_is_not_run_again(world: &mut World) {
    make_table(world).await;
    let (_, claim) = bound(world, &key("a")).await;
    transact_one(world, script(Some(claim.clone()), write(7))).await;
    let again = transact_one(world, script(Some(claim.clone()), write(8))).await;
    assert_eq!((done(&again), numbers(world).await), (Some(&b"7"[..]), vec![7]));
    world.reopen().await;
    let again = transact_one(world, script(Some(claim), write(8))).await;
    assert_eq!((done(&again), numbers(world).await), (Some(&b"7"[..]), vec![7]));
}

/// W6.1
pub async fn a_script_that_nobody_waits_for_is_not_run(world: &mut World) {
    make_table(world).await;
    let (entity, claim) = bound(world, &key("a")).await;
    let (after, removal) = world.touch(&entity);
    let rows = [((claim.lane.clone(), claim.key.clone()), None)];
    world.applied(Write { rows: Arc::new(rows.into()), ..removal }).await;
    assert!(matches!(transact_one(world, script(Some(claim), write(7))).await, Scripted::Gone));
    let (_, other) = bound(world, &key("b")).await;
    let gone = world.entity(&key("b")).await.expect("it is bound");
    world.applied(destroy(&gone)).await;
    assert!(matches!(transact_one(world, script(Some(other), write(8))).await, Scripted::Gone));
    assert!(numbers(world).await.is_empty());
    assert_eq!(world.entity(&key("a")).await, Some(after));
}

/// R3
pub async fn a_script_of_a_replaced_owner_is_fenced(world: &mut World) {
    make_table(world).await;
    let (_, claim) = bound(world, &key("a")).await;
    let fence = Some(claim.owned);
    let before = world.epochs.clone();
    world.release(&worker("one"), before.into_iter().collect(), true).await;
    world.own(&worker("two")).await;
    assert!(matches!(transact_one(world, script(Some(claim.clone()), write(7))).await, Scripted::Fenced));
    let beside = Script { fence, ..script(None, write(8)) };
    assert!(matches!(transact_one(world, beside).await, Scripted::Fenced));
    assert!(numbers(world).await.is_empty());
    let now = Claim { owned: owned(world, &key("a")), ..claim };
    assert_eq!(done(&transact_one(world, script(Some(now), write(9))).await), Some(&b"9"[..]));
}

/// W6.1
pub async fn a_script_that_fails_leaves_nothing_and_the_others_are_kept(world: &mut World) {
    make_table(world).await;
    let mut claims = Vec::new();
    for name in ["a", "b", "c"] {
        claims.push(bound(world, &key(name)).await.1);
    }
    let codes = [write(1), write_and_fail(2), write(3)];
    let scripts: Vec<_> = claims.iter().cloned().zip(codes).map(|(claim, code)| script(Some(claim), code)).collect();
    let scripted = transact(world, &scripts).await;
    assert!(matches!(&scripted[1], Scripted::Ended(Outcome::Failed(_))), "{scripted:?}");
    assert_eq!((done(&scripted[0]), done(&scripted[2])), (Some(&b"1"[..]), Some(&b"3"[..])));
    assert_eq!((numbers(world).await, row(world, &claims[1]).await), (vec![1, 3], Some(Bytes::from_static(BEFORE))));
    // The script failed, so no result is recorded, and it may be run again.
    let again = transact_one(world, script(Some(claims[1].clone()), write(2))).await;
    assert_eq!((done(&again), numbers(world).await), (Some(&b"2"[..]), vec![1, 2, 3]));
}

/// Returns code that writes a number and puts these messages, `times` times.
fn write_and_put(number: i64, world: &World, from: &Key, sent: Vec<Outgoing>, times: usize) -> ScriptCode {
    let (from, now) = (from.clone(), world.now);
    Arc::new(move |statements| {
        insert(statements, number);
        for message in std::iter::repeat_n(&sent, times).flatten() {
            statements.put_message(&from, now, message).expect("a message can be put");
        }
        Ok(Bytes::from(number.to_string()))
    })
}

fn letter(world: &World, from: &Key, sent: &Outgoing) -> Letter {
    let Outgoing { id, definition, verb, body, mark, .. } = sent.clone();
    Letter { id, from: from.clone(), definition, verb, body, mark, attempts: 0, at: world.now }
}

/// M6
pub async fn a_message_of_a_script_is_in_its_receivers_inbox(world: &mut World) {
    make_table(world).await;
    let (from, to) = (key_in(0, 0), key_in(1, 0));
    let (_, claim) = bound(world, &from).await;
    let version = world.version(&from);
    let sent: Vec<_> = (0..3).map(|index| message(version, index, &to)).collect();
    let letters: Vec<_> = sent.iter().map(|sent| letter(world, &from, sent)).collect();
    let code = write_and_put(7, world, &from, sent, 1);
    assert_eq!(done(&transact_one(world, script(Some(claim), code)).await), Some(&b"7"[..]));
    assert_eq!(world.inbox(&to).await, letters);
    world.reopen().await;
    assert_eq!((world.inbox(&to).await, numbers(world).await), (letters, vec![7]));
}

/// M6
pub async fn a_message_of_a_script_is_taken_by_its_receivers_write(world: &mut World) {
    make_table(world).await;
    let (from, to) = (key_in(0, 0), key_in(1, 0));
    let (_, claim) = bound(world, &from).await;
    let sent = message(world.version(&from), 0, &to);
    let code = write_and_put(7, world, &from, vec![sent.clone()], 1);
    transact_one(world, script(Some(claim), code)).await;
    let receiver = world.born(&to);
    world.applied(Write { taken: vec![sent.id], ..crate::store::conformance::fixture::birth(&receiver) }).await;
    assert!(world.inbox(&to).await.is_empty());
}

/// M6
pub async fn a_message_of_a_script_that_is_put_twice_is_there_once(world: &mut World) {
    make_table(world).await;
    let (from, to) = (key("a"), key("b"));
    let (_, claim) = bound(world, &from).await;
    let sent = message(world.version(&from), 0, &to);
    let code = write_and_put(7, world, &from, vec![sent], 2);
    transact_one(world, script(Some(claim), code)).await;
    assert_eq!(world.inbox(&to).await.len(), 1);
}

/// M6
pub async fn a_message_of_a_script_that_fails_or_is_fenced_is_nowhere(world: &mut World) {
    make_table(world).await;
    let (from, to) = (key("a"), key("b"));
    let (_, claim) = bound(world, &from).await;
    let sent = message(world.version(&from), 0, &to);
    let put = write_and_put(7, world, &from, vec![sent], 1);
    let fails = put.clone();
    let code: ScriptCode = Arc::new(move |statements| {
        fails(statements)?;
        Err(Box::new(Outcome::Failed(Bytes::from_static(b"as asked"))))
    });
    transact_one(world, script(Some(claim.clone()), code)).await;
    let (held_by, epoch) = claim.owned;
    let fence = Some((held_by, Epoch(epoch.0 + 1)));
    transact_one(world, Script { fence, ..script(Some(claim), put) }).await;
    assert!(world.inbox(&to).await.is_empty() && numbers(world).await.is_empty());
}

/// W6.2
pub async fn a_script_cannot_reach_the_tables_of_the_store(world: &mut World) {
    make_table(world).await;
    let (entity, claim) = bound(world, &key("a")).await;
    let refused = Arc::new(AtomicU32::new(0));
    let counted = refused.clone();
    let code: ScriptCode = Arc::new(move |statements| {
        for statement in ["DELETE FROM drystone_entity", "DROP TABLE drystone_row", "COMMIT", "ROLLBACK"] {
            counted.fetch_add(u32::from(statements.execute(statement, &[]).is_err()), Ordering::Relaxed);
        }
        insert(statements, 7);
        Ok(Bytes::from_static(b"7"))
    });
    transact_one(world, script(Some(claim), code)).await;
    assert_eq!((refused.load(Ordering::Relaxed), numbers(world).await), (4, vec![7]));
    assert_eq!(world.entity(&key("a")).await, Some(entity));
}

fn migration(name: &str, statements: &str) -> Migration {
    Migration { name: name.to_owned(), statements: statements.to_owned() }
}

async fn migrate(world: &World, list: &[Migration]) -> Result<(), MigrationFault> {
    sql(world).migrate(list).await.expect("migrations are answered")
}

fn made() -> Migration {
    migration("0001_make", "CREATE TABLE numbers (number INTEGER NOT NULL); INSERT INTO numbers VALUES (1);")
}

/// W12
pub async fn a_migration_is_applied_once(world: &mut World) {
    assert_eq!(migrate(world, &[made()]).await, Ok(()));
    assert_eq!(migrate(world, &[made()]).await, Ok(()));
    world.reopen().await;
    let more = [made(), migration("0002_more", "INSERT INTO numbers VALUES (2);")];
    assert_eq!(migrate(world, &more).await, Ok(()));
    assert_eq!(migrate(world, &more).await, Ok(()));
    assert_eq!(numbers(world).await, [1, 2]);
}

/// W12
pub async fn a_migration_that_fails_leaves_nothing_and_those_before_it_stay(world: &mut World) {
    let list = [made(), migration("0002_bad", "INSERT INTO numbers VALUES (2); INSERT INTO nowhere VALUES (3);")];
    for _ in 0..2 {
        let fault = migrate(world, &list).await;
        assert!(matches!(&fault, Err(MigrationFault::Failed { name, .. }) if name == "0002_bad"), "{fault:?}");
        assert_eq!(numbers(world).await, [1]);
    }
    let mended = [made(), migration("0002_bad", "INSERT INTO numbers VALUES (2);")];
    assert_eq!((migrate(world, &mended).await, numbers(world).await), (Ok(()), vec![1, 2]));
}

/// W12
pub async fn a_migration_that_was_changed_or_left_out_is_named_and_nothing_is_applied(world: &mut World) {
    migrate(world, &[made()]).await.expect("it can be applied");
    let next = migration("0002_more", "INSERT INTO numbers VALUES (2);");
    let changed = [migration("0001_make", "CREATE TABLE numbers (number INTEGER)"), next.clone()];
    assert_eq!(migrate(world, &changed).await, Err(MigrationFault::Changed("0001_make".into())));
    let missing = MigrationFault::Missing("0001_make".into());
    assert_eq!(migrate(world, std::slice::from_ref(&next)).await, Err(missing));
    assert_eq!(numbers(world).await, [1]);
}
