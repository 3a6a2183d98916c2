use drystone::{Primitives, primitive};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Till;
#[primitive(object)]
impl Till {}
#[derive(Primitives)]
struct App { publish: Till }

fn main() {}
