use drystone::primitive;

#[primitive(semaphore, permits = 2)]
struct Gate<const N: usize>;

fn main() {}
