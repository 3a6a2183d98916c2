//! Code that blocks its thread, on real threads: other keys are served, the thread is replaced, nothing is
//! lost (E6).

use std::{
    pin::Pin,
    sync::{Arc, Condvar, Mutex},
    time::Duration,
};

use bytes::Bytes;
use drystone_runtime::{
    Borrow, Call, Commit, Cx, Definition, Driver, Entity, Error, Handler, Hot, Input, Kernel, Key, Millis, Needed,
    Next, Now, Options, Outcome, Produced, Registry, Rows, To, Work, driver::TokioDriver, store::Memory,
};

/// A gate that blocks threads until the test opens it.
#[derive(Clone, Default)]
struct Gate(Arc<(Mutex<State>, Condvar)>);

#[derive(Default)]
struct State {
    is_open: bool,
    blocked: usize,
    /// The names of the threads that were blocked.
    threads: Vec<String>,
}

impl Gate {
    fn block(&self) {
        let (state, opened) = &*self.0;
        let mut state = state.lock().expect("nobody panics with it");
        state.blocked += 1;
        state.threads.push(std::thread::current().name().unwrap_or_default().to_owned());
        opened.notify_all();
        drop(opened.wait_while(state, |state| !state.is_open).expect("nobody panics with it"));
    }

    fn open(&self) {
        self.set_open(true);
    }

    fn set_open(&self, is_open: bool) {
        self.0.0.lock().expect("nobody panics with it").is_open = is_open;
        self.0.1.notify_all();
    }

    /// Whether a thread of the kernel was blocked.
    fn has_met_a_kernel_thread(&self) -> bool {
        let state = self.0.0.lock().expect("nobody panics with it");
        state.threads.iter().any(|thread| thread.starts_with("drystone-"))
    }

    fn blocked(&self) -> usize {
        self.0.0.lock().expect("nobody panics with it").blocked
    }
}

/// Blocks when it is dropped.
struct Stuck(Gate);

impl Drop for Stuck {
    fn drop(&mut self) {
        self.0.block();
    }
}

/// `block` blocks in its turn, `run` in its code, `keep` when its cache is dropped. `add` counts. `spawn`
/// uses the tokio runtime in pure code.
struct Blocker(Gate);

impl Handler for Blocker {
    fn borrow(&self, _: &str) -> Borrow {
        Borrow::Exclusive
    }

    fn turn(&self, hot: &mut Hot, _: &Key, entity: Option<&Entity>, _: &Rows, input: &Input, _: Now) -> Next {
        let ticket = match input {
            Input::Call { verb, .. } if *verb == "run" => return Next::Run(Work::new("run")),
            Input::Call { verb, .. } if *verb == "spawn" => {
                return Next::Run(Work { pure: true, ..Work::new("spawn") });
            }
            Input::Call { verb, ticket, .. } => {
                match verb.as_str() {
                    "block" => self.0.block(),
                    "keep" => hot.set(Stuck(self.0.clone())),
                    _ => {}
                }
                *ticket
            }
            Input::Done { cause: drystone_runtime::Cause::Call(ticket), .. } => *ticket,
            _ => return Next::nothing(),
        };
        let total = entity.map_or(0, |entity| entity.state[0]) + 1;
        let state = Bytes::from(vec![total]);
        Next::Commit(Commit {
            state: Some(state.clone()),
            replies: vec![(To::Ticket(ticket), Ok(state))],
            ..Commit::default()
        })
    }

    fn work(&self, _: &mut Hot, _: &Entity, _: &Rows, _: Millis) -> Needed<Vec<Work>> {
        Needed::Ready(Vec::new())
    }

    #[expect(clippy::disallowed_methods, reason = "an author's code may")]
    fn run(
        &self,
        _: &mut Hot,
        _: Option<&Entity>,
        work: &Work,
        _: Cx,
    ) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        let (gate, uses_the_runtime) = (self.0.clone(), work.pure);
        Box::pin(async move {
            if uses_the_runtime {
                tokio::spawn(async {}).await.expect("it does not panic");
            } else {
                gate.block();
            }
            Outcome::Ok(Produced::default())
        })
    }
}

/// Runs one piece of work after another, and records the name of the thread of each. The kernel's threads
/// begin with `drystone-`.
struct Lister {
    gate: Gate,
    threads: Arc<Mutex<Vec<String>>>,
}

impl Lister {
    /// Asks for one more piece of work, and waits for its end.
    async fn piece(kernel: &Kernel) {
        ask(kernel, "lister", "lists".into(), "go").await.expect("no caller panics").expect("it is counted");
    }

    fn on_a_hand(threads: &Mutex<Vec<String>>) -> Vec<bool> {
        let threads = threads.lock().expect("nobody panics with it");
        threads.iter().map(|thread| thread.starts_with("drystone-")).collect()
    }
}

impl Handler for Lister {
    fn borrow(&self, _: &str) -> Borrow {
        Borrow::None
    }

    fn turn(&self, _: &mut Hot, _: &Key, entity: Option<&Entity>, _: &Rows, input: &Input, _: Now) -> Next {
        // The number is odd while a piece is to run. It wraps, because a busy machine may need very many
        // pieces before one is polled inline.
        let next = entity.map_or(0, |entity| entity.head[0]).wrapping_add(1);
        match input {
            Input::Call { .. } => {
                Next::Commit(Commit { head: Some(vec![next].into()), hold: Some("end".into()), ..Commit::default() })
            }
            Input::Done { .. } => Next::Commit(Commit {
                head: Some(vec![next].into()),
                replies: vec![(To::All("end".into()), Ok(Bytes::new()))],
                ..Commit::default()
            }),
            _ => Next::nothing(),
        }
    }

    fn work(&self, _: &mut Hot, entity: &Entity, _: &Rows, _: Millis) -> Needed<Vec<Work>> {
        let number = entity.head[0];
        Needed::Ready(if number % 2 == 1 { vec![Work::new(format!("piece-{number}"))] } else { Vec::new() })
    }

    fn run(&self, _: &mut Hot, _: Option<&Entity>, _: &Work, _: Cx) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        let (gate, threads) = (self.gate.clone(), self.threads.clone());
        Box::pin(async move {
            let thread = std::thread::current().name().unwrap_or_default().to_owned();
            threads.lock().expect("nobody panics with it").push(thread);
            gate.block();
            Outcome::Ok(Produced::default())
        })
    }
}

async fn open(gate: &Gate, change: impl FnOnce(&mut Options)) -> Kernel {
    open_with(gate, Arc::default(), change).await
}

async fn open_with(gate: &Gate, threads: Arc<Mutex<Vec<String>>>, change: impl FnOnce(&mut Options)) -> Kernel {
    let driver = Arc::new(TokioDriver::new().expect("a thread can be started"));
    let clock = driver.clone();
    let store = Arc::new(Memory::new(move || clock.now(), 8));
    let named = |name: &'static str, handler: Arc<dyn Handler>| Definition {
        name: name.into(),
        kind: name.into(),
        space: "app".into(),
        config: Bytes::new(),
        handler,
    };
    let registry = Registry::new()
        .with(named("blocker", Arc::new(Blocker(gate.clone()))))
        .with(named("lister", Arc::new(Lister { gate: gate.clone(), threads })));
    let mut options = Options::default();
    options.blocked_after = Duration::from_millis(20);
    change(&mut options);
    Kernel::open(store, registry, driver, options).await.expect("memory does not fail").0
}

#[expect(clippy::disallowed_methods, reason = "a caller is a task of its own")]
fn ask(
    kernel: &Kernel,
    definition: &'static str,
    key: String,
    verb: &'static str,
) -> tokio::task::JoinHandle<Result<Bytes, Error>> {
    let kernel = kernel.clone();
    tokio::spawn(async move { kernel.call(Call::new(definition, key, verb, "")).await })
}

/// Waits until the condition holds, without sleeping.
async fn until(is_so: impl Fn() -> bool) {
    while !is_so() {
        tokio::task::yield_now().await;
    }
}

/// E6: The blocked thread is counted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_keys_are_answered_while_a_turn_blocks_its_thread() {
    let gate = Gate::default();
    let kernel = open(&gate, |_| {}).await;
    let blocked = ask(&kernel, "blocker", "a".into(), "block");
    until(|| gate.blocked() == 1).await;
    for number in 0..100 {
        assert_eq!(ask(&kernel, "blocker", format!("other{number}"), "add").await.unwrap().unwrap(), vec![1]);
    }
    until(|| kernel.counts().blocked >= 1).await;
    let waiting = ask(&kernel, "blocker", "a".into(), "add");
    gate.open();
    assert_eq!(blocked.await.unwrap().unwrap(), vec![1]);
    assert_eq!(waiting.await.unwrap().unwrap(), vec![2]);
}

/// E6, E13
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_keys_are_answered_while_a_dropped_memory_blocks_its_thread() {
    let gate = Gate::default();
    // There is room for one key in memory, and evicted keys are dropped only in visits.
    let kernel = open(&gate, |options| (options.resident_bytes_max, options.settled_here_max) = (5_000, 0)).await;
    assert_eq!(ask(&kernel, "blocker", "a".into(), "keep").await.unwrap().unwrap(), vec![1]);
    // For lack of room, the first key is evicted in a visit of one of these, and that thread has reads or
    // writes to do next.
    for number in 0..100 {
        assert_eq!(ask(&kernel, "blocker", format!("other{number}"), "add").await.unwrap().unwrap(), vec![1]);
    }
    assert_eq!(gate.blocked(), 1);
    gate.open();
    assert_eq!(ask(&kernel, "blocker", "a".into(), "add").await.unwrap().unwrap(), vec![2]);
}

/// E6
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_blocking_turns_than_threads_do_not_stop_the_others() {
    let gate = Gate::default();
    // On a busy machine a thread that only waits for the processor is replaced as well; the high limit allows
    // for that.
    let kernel = open(&gate, |options| (options.turn_threads, options.replacement_threads_max) = (3, 1_000)).await;
    let blocked: Vec<_> = (0..8).map(|number| ask(&kernel, "blocker", format!("blocks{number}"), "block")).collect();
    until(|| gate.blocked() == 8).await;
    assert_eq!(ask(&kernel, "blocker", "other".into(), "add").await.unwrap().unwrap(), vec![1]);
    until(|| kernel.counts().blocked >= 8).await;
    gate.open();
    for caller in blocked {
        assert_eq!(caller.await.unwrap().unwrap(), vec![1]);
    }
    assert_eq!(ask(&kernel, "blocker", "other".into(), "add").await.unwrap().unwrap(), vec![2]);
}

/// E6
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_every_hand_that_may_be_replaced_is_blocked_nothing_is_lost() {
    let gate = Gate::default();
    let kernel = open(&gate, |options| (options.turn_threads, options.replacement_threads_max) = (2, 1)).await;
    let blocked: Vec<_> = (0..5).map(|number| ask(&kernel, "blocker", format!("blocks{number}"), "block")).collect();
    // The one replacement is used up, by a blocked turn or by a thread that waited for the processor.
    until(|| gate.blocked() >= 2 && kernel.counts().blocked >= 1).await;
    let waiting = ask(&kernel, "blocker", "other".into(), "add");
    gate.open();
    for caller in blocked.into_iter().chain([waiting]) {
        assert_eq!(caller.await.unwrap().unwrap(), vec![1]);
    }
}

/// E6
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_work_blocks_the_authors_threads_turns_go_on() {
    let gate = Gate::default();
    let kernel = open(&gate, |_| {}).await;
    let blocked = ask(&kernel, "blocker", "a".into(), "run");
    until(|| gate.blocked() == 1).await;
    for number in 0..100 {
        assert_eq!(ask(&kernel, "blocker", format!("other{number}"), "add").await.unwrap().unwrap(), vec![1]);
    }
    assert!(!gate.has_met_a_kernel_thread(), "no thread of the kernel is blocked");
    gate.open();
    assert_eq!(blocked.await.unwrap().unwrap(), vec![1]);
}

/// E6
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn short_work_is_polled_by_its_thread_until_it_blocks() {
    let (gate, threads) = (Gate::default(), Arc::default());
    let kernel = open_with(&gate, Arc::clone(&threads), |_| {}).await;
    gate.open();
    // However long a piece takes on a busy machine, the kernel will in the end poll the work on its own
    // thread.
    while !Lister::on_a_hand(&threads).contains(&true) {
        Lister::piece(&kernel).await;
    }
    let quick = Lister::on_a_hand(&threads).len();
    assert!(quick > 16, "{quick} are not enough for a habit");
    while Lister::on_a_hand(&threads).last() != Some(&true) {
        Lister::piece(&kernel).await;
    }
    gate.set_open(false);
    let (before, replaced) = (gate.blocked(), kernel.counts().blocked);
    let blocked = ask(&kernel, "lister", "lists".into(), "go");
    until(|| gate.blocked() > before).await;
    assert_eq!(ask(&kernel, "blocker", "other".into(), "add").await.unwrap().unwrap(), vec![1]);
    let was_on_a_hand = Lister::on_a_hand(&threads).last() == Some(&true);
    if was_on_a_hand {
        until(|| kernel.counts().blocked > replaced).await;
    }
    gate.open();
    blocked.await.unwrap().unwrap();
    Lister::piece(&kernel).await;
    assert_eq!(Lister::on_a_hand(&threads).last(), Some(&false), "one that blocks is the last for a while");
}

/// E3, E6
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pure_code_may_use_the_runtime() {
    let kernel = open(&Gate::default(), |_| {}).await;
    assert_eq!(ask(&kernel, "blocker", "a".into(), "spawn").await.unwrap().unwrap(), vec![1]);
}
