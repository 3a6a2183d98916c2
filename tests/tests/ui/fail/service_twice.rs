use std::sync::Arc;

use drystone::Services;

struct Mail;

#[derive(Services)]
struct Deps {
    mail: Mail,
    other: Arc<Mail>,
}
fn main() {}
