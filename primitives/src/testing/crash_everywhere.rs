//! A test that is run again with a crash at each of its commits.

use std::{
    any::Any,
    fmt::Debug,
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::Arc,
    task::Poll,
};

use drystone_runtime::kernel::panic_message;

use super::{
    difference::{CrashError, Difference},
    setup::Setup,
    store::Moment,
    trial::{Disturbance, Trial},
};

/// Runs a scenario again and again: with a crash before and after each of its commits, with everything forgotten before every
/// turn, with every call made twice. Says where it first comes to something else than it does undisturbed.
///
/// A scenario is the body of an ordinary test, which begins with the [`Setup`] that it is given instead of
/// [`World::memory()`](super::World::memory), makes its services anew each time, and returns what is to be the same whatever happens: what callers
/// were told, what a fake of the outside has seen.
///
/// ```
/// # use std::{collections::BTreeMap, sync::{Arc, Mutex}};
/// # use drystone::{Context, Flow, Primitives, Services, testing::crash_everywhere, workflow};
/// # use serde::{Deserialize, Serialize};
/// # #[derive(Default, Serialize, Deserialize)] struct Checkout;
/// #[workflow]
/// impl Checkout {
///     async fn run(flow: &Flow<Self>, cents: u64) -> u64 { flow.charge(cents).await }
///     #[step]
///     async fn charge(cents: u64, bank: &Bank, cx: &Context) -> u64 { bank.charge(cx.work_id(), cents) }
/// }
///
/// /// A fake that knows what it has done by its id, as the real one does.
/// #[derive(Clone, Default)]
/// struct Bank(Arc<Mutex<BTreeMap<String, u64>>>);
///
/// impl Bank {
///     fn charge(&self, id: String, cents: u64) -> u64 { *self.0.lock().unwrap().entry(id).or_insert(cents) }
///     fn charges(&self) -> Vec<u64> { self.0.lock().unwrap().values().copied().collect() }
/// }
/// # #[derive(Services)] struct Deps { bank: Bank }
/// # #[derive(Primitives)] struct App { checkout: Checkout }
///
/// # drystone::testing::block_on(async {
/// // #[tokio::test]
/// // async fn an_order_is_charged_once_whenever_it_crashes() {
/// let survived = crash_everywhere(async |setup| {
///     let bank = Bank::default();
///     let world = setup.services(Deps { bank: bank.clone() }).start::<App>().await;
///     let order = world.client().checkout("order-9");
///     order.start(1_200).await.unwrap();
///     (order.result().await.unwrap(), bank.charges())
/// });
/// assert_eq!(survived.await.unwrap().commits, 2);
/// # });
/// ```
///
/// # What the scenario sees
/// - **The process is started again at once**, on the same store, with the same services, at the same time of the world: they stand for what is
///   outside. The scenario goes on as if nothing were; it need not know.
/// - **Its calls are made again** if they die with the process, as a careful caller does: with an idempotency key (E12), one of the kit's own if
///   the call has none. So each is done once, and a test that is not about crashes passes as it is. The same goes for listings and views. An
///   `acquire` has no key: it is asked anew, and the permit of a caller who died comes back when its lease is over.
/// - **Calls of an entity's own code** die with it; who makes them makes them again.
/// - **A transactional step** is executed once (W6), and is what its table shows: [`World::transaction`](super::World::transaction) reads it. What a scenario writes by
///   that itself is no commit to crash at, for it has no idempotency key.
/// - Its own `world.restart()` and `crash()` do what they do elsewhere.
///
/// # What may differ
/// A step, a tick, a flush, an action with services run *at least once* (W1, A2): a crash before the commit of their end runs them again, and a fake that counts
/// sees two. That is what this finds, if it matters; if it does not, let the scenario return what does: effects by their
/// [work id](crate::Context::work_id), as `Bank` does, the set of mails that went out, the last state. Ids themselves, and versions, may differ: an entity whose first
/// commit was lost is another one.
///
/// # What it costs
/// `2n + 4` runs of the scenario, for n commits; a commit that takes up several entities counts as one, and so does a transaction of
/// transactional steps. They are in memory, one after the other, and take the time that their code takes; an app with
/// a transactional step or a [schema](Setup::schema) is on a SQLite file, another one in each run. A scenario that gets stuck is given up after 2 seconds in which nothing moves, unless it sets its
/// own [patience](Setup::patience). A panic in it is a difference like any other.
pub async fn crash_everywhere<T: PartialEq + Debug>(
    scenario: impl AsyncFn(Setup<()>) -> T,
) -> Result<Survived, CrashError> {
    let (trial, setup) = tried(Disturbance::Nothing);
    let expected = scenario(setup).await;
    let commits = trial.commits();
    if commits == 0 {
        return Err(CrashError::NothingCommitted);
    }
    let mut runs = 1;
    for disturbance in disturbances(commits) {
        let (trial, setup) = tried(disturbance);
        let found = caught(scenario(setup)).await;
        runs += 1;
        if found.as_ref().ok() != Some(&expected) {
            let found =
                found.map_or_else(|panic| format!("a panic: {}", panic_message(&*panic)), |found| format!("{found:?}"));
            let difference = Difference {
                disturbance,
                commits,
                wrote: trial.fatal(),
                expected: format!("{expected:?}"),
                found,
                trace: trial.lines(),
            };
            return Err(CrashError::Differs(Box::new(difference)));
        }
    }
    Ok(Survived { commits, runs })
}

/// What a scenario came through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Survived {
    /// Its commits; there was a crash before and after each.
    pub commits: u64,
    /// How often it was run.
    pub runs: u64,
}

/// Undisturbed comes first again: a scenario that differs by itself says nothing about crashes.
fn disturbances(commits: u64) -> impl Iterator<Item = Disturbance> {
    let moments = [Moment::Before, Moment::After];
    let crashes = (1..=commits).flat_map(move |commit| moments.map(|moment| Disturbance::Crash { commit, moment }));
    [Disturbance::Nothing, Disturbance::Forgetful, Disturbance::Twice].into_iter().chain(crashes)
}

fn tried(disturbance: Disturbance) -> (Arc<Trial>, Setup<()>) {
    let trial = Arc::new(Trial::new(disturbance));
    (trial.clone(), Setup::on_trial(trial))
}

/// What comes of a future, or its panic.
async fn caught<T>(future: impl Future<Output = T>) -> Result<T, Box<dyn Any + Send>> {
    let mut future = pin!(future);
    poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
        Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
        Ok(Poll::Pending) => Poll::Pending,
        Err(panic) => Poll::Ready(Err(panic)),
    })
    .await
}
