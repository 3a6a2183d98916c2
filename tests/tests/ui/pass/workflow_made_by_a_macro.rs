//! A workflow in a `macro_rules!`.

use drystone::{Flow, workflow};

macro_rules! workflows {
    ($($name:ident($input:ty) -> $output:ty, $limit:literal, $attempts:expr, $value:expr;)*) => {$(
        #[derive(Default, serde::Serialize, serde::Deserialize)]
        pub struct $name;

        #[workflow(retention = $limit)]
        impl $name {
            async fn run(flow: &Flow<Self>, input: $input) -> $output {
                flow.sleep($limit).await;
                flow.act(input).await
            }

            #[step(max_attempts = $attempts, timeout = $limit)]
            async fn act(_input: $input) -> $output {
                $value
            }
        }
    )*};
}

workflows! {
    One(u32) -> u32, "1d", 3, 1;
    Other(Vec<String>) -> Result<Vec<u8>, drystone::Never>, "1m", 1, Ok(vec![]);
}

fn main() {}
