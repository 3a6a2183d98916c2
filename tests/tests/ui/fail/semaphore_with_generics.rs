use drystone::primitive;

#[primitive(semaphore, permits = 2)]
struct Gate<T>;

fn main() {}
