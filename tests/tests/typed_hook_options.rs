//! The options on a hook are the options of its kind.

use drystone::{Batch, Item, author::OfKind, primitive};
use serde::{Deserialize, Serialize};

macro_rules! structs {
    ($($name:ident)*) => {
        $(#[derive(Default, Serialize, Deserialize)] struct $name;)*
    };
}

structs!(QueueAbove QueueHere TickAbove TickHere FlushAbove FlushHere AlarmAbove AlarmHere);

#[primitive(queue, concurrency = 2, max_attempts = 1, backoff = "2s", timeout = "5s", heartbeat = "1s")]
impl QueueAbove {
    #[process]
    async fn send(&self, _item: Item<String>) -> Result<(), String> {
        Ok(())
    }
}

#[primitive(queue, concurrency = 2)]
impl QueueHere {
    #[process(max_attempts = 1, backoff = "2s", timeout = "5s", heartbeat = "1s")]
    async fn send(&self, _item: Item<String>) -> Result<(), String> {
        Ok(())
    }
}

#[primitive(continuous, every = "1h", max_attempts = 7, retry = "2s..1m", timeout = "5s")]
impl TickAbove {
    #[tick]
    async fn tick(&mut self) -> Result<(), String> {
        Ok(())
    }
}

#[primitive(continuous, every = "1h")]
impl TickHere {
    #[tick(max_attempts = 7, retry = "2s..1m", timeout = "5s")]
    async fn tick(&mut self) -> Result<(), String> {
        Ok(())
    }
}

#[primitive(buffer, max_attempts = 7, backoff = "2s..1m", timeout = "5s")]
impl FlushAbove {
    #[flush]
    async fn flush(&mut self, _batch: Batch<u32>) -> Result<(), String> {
        Ok(())
    }
}

#[primitive(buffer, timeout = "5s")]
impl FlushHere {
    #[hook(flush, max_attempts = 7, backoff = "2s..1m")]
    async fn flush(&mut self, _batch: Batch<u32>) -> Result<(), String> {
        Ok(())
    }
}

#[primitive(object, max_attempts = 7, retry = "2s", timeout = "5s")]
impl AlarmAbove {
    #[alarm]
    async fn rang(&mut self) -> Result<(), String> {
        Ok(())
    }
}

#[primitive(object)]
impl AlarmHere {
    #[alarm(max_attempts = 7, retry = "2s", timeout = "5s")]
    async fn rang(&mut self) -> Result<(), String> {
        Ok(())
    }
}

fn options<T: OfKind>() -> serde_json::Value {
    serde_json::to_value(T::kind()).expect("options are serde")
}

/// C5, B5, Q3, A3
#[test]
fn an_option_on_a_hook_is_the_option_of_its_kind() {
    assert_eq!(options::<QueueHere>(), options::<QueueAbove>());
    assert_eq!(options::<TickHere>(), options::<TickAbove>());
    assert_eq!(options::<FlushHere>(), options::<FlushAbove>());
    assert_eq!(options::<AlarmHere>(), options::<AlarmAbove>());
}
