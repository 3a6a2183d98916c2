use drystone::{Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(_flow: &Flow<Self>) -> u64 {
        let _ = rand::random_range(0..3);
        let _ = fastrand::u64(0..3);
        let _ = StdRng::from_os_rng();
        rand::random() + Uuid::new_v4()
    }
}
fn main() {}
mod rand {
    pub fn random() -> u64 { 4 }
    pub fn random_range(_: std::ops::Range<u64>) -> u64 { 4 }
}
mod fastrand { pub fn u64(_: std::ops::Range<u64>) -> u64 { 4 } }
struct StdRng;
impl StdRng { fn from_os_rng() -> u64 { 4 } }
struct Uuid;
impl Uuid { fn new_v4() -> u64 { 4 } }
