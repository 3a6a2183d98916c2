use drystone::primitive;

#[primitive(object)]
async fn put() {}
fn main() {}
