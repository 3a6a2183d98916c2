use drystone::durable;

#[durable]
fn wait() {}

#[durable]
struct Wait;
fn main() {}
