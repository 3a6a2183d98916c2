use drystone::Services;

#[derive(Services)]
enum Deps {
    None,
}
fn main() {}
