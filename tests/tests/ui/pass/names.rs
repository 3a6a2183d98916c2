//! The author's names do not meet ours.
#![deny(warnings)]
#![allow(dead_code, unused_imports)]

use drystone::{Primitives, Services, primitive};

mod shadows {
    pub struct Box;
    pub struct Option;
    pub struct Some;
    pub struct None;
    pub struct Ok;
    pub struct Err;
    pub struct String;
    pub struct Send;
    pub struct Sync;
    pub struct From;
    pub struct Drop;
    pub mod std {}
    pub mod core {}
    pub mod author {}
}
use shadows::*;

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct Cart {
    count: u32,
}

struct D(u32);
struct A;

type T = u32;
type I = u32;

#[primitive(object)]
impl Cart {
    async fn one(&mut self, args: u32, name: u32, given: u32, env: u32, params: u32) -> u32 {
        args + name + given + env + params
    }

    async fn two(&self, input: T, ended: I, options: u32, desk: &D, app: &A) -> u32 {
        let _ = app;
        input + ended + options + desk.0
    }

    async fn r#match(&self, r#type: u32) -> u32 {
        r#type
    }

    async fn patterns(&self, (left, right): (u32, u32), [first, ..]: [u32; 3], _: u32, mut last: u32) -> u32 {
        last += 1;
        left + right + first + last + self.count
    }
}

#[derive(Services)]
struct Deps {
    provide: D,
    services: A,
}

#[derive(Primitives)]
struct App {
    key: Cart,
    r#type: Cart,
}

fn main() {
    let _: fn(&AppClient) = |client| {
        drop(client.key("a").one(1, 2, 3, 4, 5));
        drop(client.r#type("a").r#match(1));
    };
}
