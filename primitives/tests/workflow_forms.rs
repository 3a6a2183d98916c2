//! What can be written in a workflow. Most of it is shown by compiling.

use drystone::{Event, Failure, Flow, Primitives, Provide, Runtime, Services, Workflow, durable, join_all, workflow};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
enum Stage {
    #[default]
    Charging,
    Approval,
}

#[derive(Serialize, Deserialize)]
struct Card(String);

#[derive(Serialize, Deserialize)]
struct Order {
    card: Card,
    total: u64,
    email: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Charge {
    id: u64,
}

#[derive(Serialize, Deserialize)]
struct Receipt {
    charge: u64,
}

#[derive(Debug, Serialize, Deserialize)]
enum PayError {
    Declined,
    Busy,
}

impl PayError {
    fn is_temporary(&self) -> bool {
        matches!(self, Self::Busy)
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct MailError;

#[derive(Debug, Serialize, Deserialize)]
enum CheckoutError {
    Pay(PayError),
    Mail,
    Rejected(String),
    NobodyAnswered,
}

impl From<PayError> for CheckoutError {
    fn from(error: PayError) -> Self {
        Self::Pay(error)
    }
}

impl From<MailError> for CheckoutError {
    fn from(MailError: MailError) -> Self {
        Self::Mail
    }
}

#[derive(Event, Serialize, Deserialize)]
struct Approved {
    by: String,
}

#[derive(Event, Serialize, Deserialize)]
#[event(name = "rejected", keep = "latest", max_queued = 100, expires = "1d", key = why, on_terminated = "discard")]
struct Rejected {
    why: String,
}

struct Payments;

impl Payments {
    fn charge(&self, card: &Card, total: u64) -> Result<Charge, PayError> {
        if card.0.is_empty() { Err(PayError::Declined) } else { Ok(Charge { id: total }) }
    }
}

trait Mail: Send + Sync {
    fn send(&self, to: &str, charge: u64) -> Result<(), MailError>;
}

struct NoMail;

impl Mail for NoMail {
    fn send(&self, _: &str, _: u64) -> Result<(), MailError> {
        Ok(())
    }
}

/// An order, until it is paid and approved.
#[derive(Serialize, Deserialize, Default)]
struct Checkout {
    stage: Stage,
}

const SHORT: std::time::Duration = std::time::Duration::from_secs(5);

#[workflow(events(Approved, Rejected), retention = "30d")]
impl Checkout {
    async fn run(flow: &Flow<Self>, order: Order) -> Result<Receipt, CheckoutError> {
        let charge = flow.charge(order.card, order.total).await?;
        flow.update(|checkout| checkout.stage = Stage::Approval);
        let approved = select! {
            approved = flow.wait_for::<Approved>() => approved,
            rejected = flow.wait_for::<Rejected>() => return Err(CheckoutError::Rejected(rejected.why)),
            _ = flow.sleep("24h") => return Err(CheckoutError::NobodyAnswered),
        };
        Self::thank(flow, order.email, &charge, &approved).await?;
        Ok(Receipt { charge: charge.id })
    }

    /// A helper of the body.
    async fn thank(flow: &Flow<Self>, to: String, charge: &Charge, approved: &Approved) -> Result<(), MailError> {
        flow.email(format!("{to}, {}", approved.by), charge.id).await
    }

    /// Charges the card.
    #[step(max_attempts = 5, backoff = "1s..1m", timeout = "30s", give_up_after = "1h", retry_if = PayError::is_temporary)]
    async fn charge(card: Card, total: u64, payments: &Payments) -> Result<Charge, PayError> {
        payments.charge(&card, total)
    }

    #[step(timeout = SHORT, give_up_after = Self::LONG)]
    async fn email(to: String, charge: u64, mail: &dyn Mail) -> Result<(), MailError> {
        mail.send(&to, charge)
    }

    #[step]
    async fn count(of: Vec<u64>) -> u64 {
        of.iter().sum()
    }

    #[cancelled]
    async fn cleanup(flow: &Flow<Self>) -> Result<(), Failure> {
        let sum = flow.count(vec![1, 2]).await;
        flow.update(|checkout| checkout.stage = if sum == 3 { Stage::Approval } else { Stage::Charging });
        Ok(())
    }

    /// Where it stands.
    async fn stage(&self) -> Stage {
        self.stage
    }

    async fn is_past(&self, stage: Stage, _payments: &Payments) -> bool {
        self.stage as u8 > stage as u8
    }

    const LONG: std::time::Duration = std::time::Duration::from_secs(60);
}

/// Bodies in all forms.
#[derive(Serialize, Deserialize, Default)]
struct Forms;

#[workflow]
impl Forms {
    async fn run(flow: &Flow<Self>, input: u32, services: Vec<u64>) -> u64 {
        let mut sum = 0;
        let mut slow = flow.add(1, 2);
        let slept = loop {
            select! {
                three = &mut slow => break three,
                () = flow.sleep("5s") => {
                    sum += 1;
                    if sum > 10 {
                        break 0;
                    }
                    continue;
                }
            }
        };
        let (one, two, three) = join!(flow.add(1, 0), flow.add(1, 1), async { flow.add(1, 2).await + 1 });
        let nested = select! {
            left = async move {
                select! {
                    a = flow.add(input.into(), 1) => a,
                    _ = flow.sleep(std::time::Duration::from_secs(1)) => flow.add(0, 0).await,
                }
            } => left,
            (a, b) = async { join!(flow.add(1, 1), flow.add(2, 2)) } => a + b,
        };
        let all = join_all(services.into_iter().map(|number| async move { flow.add(number, 1).await })).await;
        let text = format!("{}", flow.add(1, 1).await);
        let later = flow.run("code", async move { std::time::SystemTime::now().elapsed().is_ok() });
        let told = later.max_attempts(3).backoff("1s..1m").timeout("30s").await;
        let boxed: Vec<u64> = vec![Box::pin(flow.add(1, 1)).await, Self::down(flow, 3).await];
        let caught = flow.add(1, 1).catch().await.unwrap_or_default();
        sum + slept
            + one
            + two
            + three
            + nested
            + all.len() as u64
            + text.len() as u64
            + u64::from(told)
            + boxed.len() as u64
            + caught
            + free(flow, &[1, 2]).await.unwrap_or_default()
    }

    async fn down(flow: &Flow<Self>, count: u64) -> u64 {
        if count == 0 { 0 } else { Box::pin(Self::down(flow, count - 1)).await + flow.add(count, 0).await }
    }

    #[step]
    async fn add(one: u64, other: u64) -> u64 {
        one + other
    }
}

#[durable]
async fn free(flow: &Flow<Forms>, numbers: &[u64]) -> Result<u64, Failure> {
    let mut sum: u64 = 0;
    for number in numbers {
        sum = flow.add(sum, *number).await;
    }
    let text = sum.to_string();
    Ok(text.parse::<u64>()?)
}

#[derive(Services)]
struct Deps {
    payments: Payments,
    mail: Box<dyn Mail>,
}

#[derive(Primitives)]
struct App {
    checkout: Checkout,
    forms: Forms,
}

/// What callers write.
async fn calls(client: &AppClient) -> Result<(), Box<dyn std::error::Error>> {
    let order = || Order { card: Card("4242".into()), total: 7, email: "a@b.c".into() };
    let run = client.checkout("order-9");
    run.start(order()).await?;
    run.start_or_get(order()).await?;
    let _key: String = run.start_new(order()).await?;
    run.start_with(order(), Approved { by: "me".into() }).await?;
    run.send_or_start(Rejected { why: "no".into() }, order()).await?;
    run.send(Approved { by: "me".into() }).await?;
    let _stage: Stage = run.stage().await?;
    let _past: bool = run.is_past(Stage::Charging).await?;
    let receipt: Receipt = run.result().await.map_err(|_| "no result")?;
    let _maybe: Option<Receipt> = run.try_result().await.map_err(|_| "no result")?;
    client.forms("a").start(1, vec![receipt.charge]).await?;
    Ok(())
}

#[test]
fn all_forms_compile() {
    let _ = calls;
    let _ = || Runtime::sqlite("app.db").services(Deps { payments: Payments, mail: Box::new(NoMail) }).start::<App>();
    fn provides<T: Provide<Payments>>() {}
    provides::<Deps>();
}

/// W3
#[test]
fn the_script_has_what_is_written_and_errors_are_judged() {
    let names: Vec<&str> = Checkout::SCRIPT.steps.iter().map(|step| step.name).collect();
    assert_eq!(names, ["charge", "email", "count"]);
    assert_eq!(Checkout::SCRIPT.queries.len(), 2);
    const { assert!(Checkout::SCRIPT.has_cancelled && !Forms::SCRIPT.has_cancelled) };
    assert_ne!(Checkout::SCRIPT.hash, Forms::SCRIPT.hash);
    assert_eq!(Rejected::NAME, "rejected");
    assert_eq!(Rejected { why: "late".into() }.key().as_deref(), Some("late"));
    assert_eq!((Approved::NAME, Approved { by: String::new() }.key()), ("Approved", None));
    assert!(Checkout::is_worth_retrying("charge", b"\"Busy\""));
    assert!(!Checkout::is_worth_retrying("charge", b"\"Declined\""));
    assert!(Checkout::is_worth_retrying("charge", b"7") && Checkout::is_worth_retrying("email", b"null"));
    assert_eq!(Checkout::initial().stage, Stage::Charging);
}

#[tokio::test]
async fn a_step_is_a_plain_function_elsewhere() {
    let charge = Checkout::charge(Card("4242".into()), 7, &Payments).await.unwrap();
    assert_eq!(charge, Charge { id: 7 });
    assert!(matches!(Checkout::charge(Card(String::new()), 7, &Payments).await, Err(PayError::Declined)));
}
