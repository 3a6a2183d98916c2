//! Runs a test again with a crash at each of its commits.

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

/// Runs a scenario again and again: with a crash before and after each of its commits, with everything
/// forgotten before every turn, and with every call made twice. Reports the first run whose result differs
/// from that of the undisturbed run.
///
/// A scenario is the body of an ordinary test. It begins with the given [`Setup`] instead of
/// [`World::memory()`](super::World::memory), and makes its services anew each time. It returns what must be
/// the same in every run: the answers of its calls, and what a fake of an outside system has seen.
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
/// /// A fake that remembers each charge by its id, as a real bank does.
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
/// - **The process is started again at once**, on the same store, at the same time of the world, and with
///   the same services, because they stand for outside systems. The scenario continues and need not know.
/// - **Its calls are made again** if they die with the process, as a careful caller does: with an
///   idempotency key (E12). A call without a key gets one from the kit. So each call is executed once, and a
///   test that is not about crashes passes as it is. The same holds for listings and views. An `acquire` has
///   no key: it is made anew, and the permit of the dead caller comes back when its lease is over.
/// - **Calls of an entity's own code** die with the process; that code runs again and makes them again.
/// - **A transactional step** is executed once (W6), as its table shows:
///   [`World::transaction`](super::World::transaction) reads the table. The scenario's own writes through
///   `World::transaction` are not commits to crash at, because they have no idempotency key.
/// - The scenario's own `world.restart()` and `crash()` do what they do elsewhere.
///
/// # What may differ
/// A step, a tick, a flush and an action with services run *at least once* (W1, A2): a crash before the
/// commit of their end runs them again, and a fake that counts sees two executions. If that matters, this
/// function has found a bug. If it does not matter, let the scenario return something that stays the same:
/// effects by their [work id](crate::Context::work_id), as `Bank` does, the set of mails that went out, the
/// last state. Ids themselves, and versions, may differ, because an entity whose first commit was lost is
/// bound as another entity.
///
/// # What it costs
/// `2n + 4` runs of the scenario, for n commits. A commit of several entities counts as one, and so does a
/// transaction of several transactional steps. The runs are in memory, one after another, and take as long
/// as their code takes. An app with a transactional step or a [schema](Setup::schema) is on a SQLite file,
/// with a new file for each run. A scenario that gets stuck is given up after 2 seconds in which nothing
/// moves, unless it sets its own [patience](Setup::patience). A panic in the scenario is a difference like
/// any other.
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

/// The report of a scenario that passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Survived {
    /// How many commits the scenario makes. There was a crash before and after each.
    pub commits: u64,
    /// How often the scenario was run.
    pub runs: u64,
}

/// The undisturbed run is repeated first, because a scenario that differs by itself says nothing about
/// crashes.
fn disturbances(commits: u64) -> impl Iterator<Item = Disturbance> {
    let moments = [Moment::Before, Moment::After];
    let crashes = (1..=commits).flat_map(move |commit| moments.map(|moment| Disturbance::Crash { commit, moment }));
    [Disturbance::Nothing, Disturbance::Forgetful, Disturbance::Twice].into_iter().chain(crashes)
}

fn tried(disturbance: Disturbance) -> (Arc<Trial>, Setup<()>) {
    let trial = Arc::new(Trial::new(disturbance));
    (trial.clone(), Setup::on_trial(trial))
}

/// Returns the value of a future, or its panic.
async fn caught<T>(future: impl Future<Output = T>) -> Result<T, Box<dyn Any + Send>> {
    let mut future = pin!(future);
    poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
        Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
        Ok(Poll::Pending) => Poll::Pending,
        Err(panic) => Poll::Ready(Err(panic)),
    })
    .await
}
