use drystone::Event;

#[derive(Event)]
struct Approved {
    by: String,
}

fn main() {
    let _ = Approved { by: String::new() }.by;
}
