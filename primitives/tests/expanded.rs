//! What `#[primitive]`, `#[derive(Primitives)]` and `#[derive(Services)]` make, written by hand: the contract between the
//! macros and this crate.

#![allow(missing_docs, unused_imports, clippy::needless_pass_by_value, reason = "it is as macros make it")]

use drystone::{CallError, Runtime};
use serde::{Deserialize, Serialize};

// ---- as the author writes it

struct Prices(u32);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum CartError {
    Full,
}

#[derive(Debug, PartialEq, Default, Serialize, Deserialize)]
struct Cart {
    items: Vec<String>,
}

// #[primitive(object, retry = "1s..1m")]
impl Cart {
    /// Puts an item in; how many there are then.
    async fn put(&mut self, item: String, count: u32) -> Result<usize, CartError> {
        if self.items.len() + count as usize > 3 {
            return Err(CartError::Full);
        }
        self.items.extend(std::iter::repeat_n(item, count as usize));
        Ok(self.items.len())
    }
    async fn total(&self, prices: &Prices) -> u32 {
        self.items.len() as u32 * prices.0
    }
    // #[alarm]
    async fn abandoned(&mut self, cx: &drystone::Context) -> Result<(), std::io::Error> {
        self.items.push(cx.key_text());
        Ok(())
    }
    async fn leave(&mut self, cx: &drystone::Context) {
        cx.alarm_in(drystone::d!("10ms"));
    }
}

// ---- as the macro expands it

const _: () = {
    use drystone::author::Fallback as _;
    assert!(!drystone::author::Probe::<u32>::IS_RESULT, "this alias is a `Result`");
    drystone::author::not_a_verb(drystone::author::COMMON_VERBS, "put");
    drystone::author::not_a_verb(<drystone::kinds::object::Options as drystone::kind::Kind>::VERBS, "put");
};

#[automatically_derived]
impl drystone::Primitive for Cart {
    type Kind = drystone::kinds::object::Options;
    type Handle = CartHandle;

    const CODE: drystone::author::Code = drystone::author::Code {
        actions: &[
            drystone::author::Action { name: "put", writes: true, pure: true },
            drystone::author::Action { name: "total", writes: false, pure: false },
            drystone::author::Action { name: "leave", writes: true, pure: true },
        ],
        hooks: &[drystone::author::HookCode { name: "alarm", writes: true, applies: false }],
        init: None,
        has_destroy: false,
        has_reduce: false,
    };

    fn kind() -> Self::Kind {
        const OPTIONS: drystone::kinds::object::Options = {
            let options = drystone::kinds::object::Options::NEW;
            let options = drystone::kinds::object::Options::retry(options, "1s..1m");
            drystone::kinds::object::Options::checked(options)
        };
        OPTIONS
    }

    fn handle(address: drystone::author::Address) -> CartHandle {
        CartHandle(drystone::kinds::object::Verbs::from(drystone::Handle::new(address)))
    }

    fn initial() -> Option<Self> {
        use drystone::author::Fallback as _;
        drystone::author::Probe::<Cart>::initial()
    }
}

#[automatically_derived]
impl<__D, __A> drystone::author::Runs<__D, __A> for Cart
where
    __D: drystone::Provide<Prices> + Send + Sync + 'static,
    __A: 'static,
{
    fn read<'a>(
        &'a self,
        name: &'a str,
        given: drystone::author::Given,
        env: &'a drystone::author::Env<__D, __A>,
    ) -> drystone::author::Running<'a> {
        Box::pin(async move {
            match name {
                "total" => {
                    drystone::author::Params::read(&given.body, 0).map_err(drystone::author::Thrown::Malformed)?;
                    let returned = drystone::author::sendable(Cart::total(self, env.service::<Prices>())).await;
                    drystone::author::returned(&returned)
                }
                _ => Err(drystone::author::Thrown::Unknown),
            }
        })
    }

    fn write<'a>(
        &'a mut self,
        name: &'a str,
        given: drystone::author::Given,
        env: &'a drystone::author::Env<__D, __A>,
    ) -> drystone::author::Running<'a> {
        Box::pin(async move {
            match name {
                "put" => {
                    let mut params =
                        drystone::author::Params::read(&given.body, 2).map_err(drystone::author::Thrown::Malformed)?;
                    let p0 = params.take::<String>().map_err(drystone::author::Thrown::Malformed)?;
                    let p1 = params.take::<u32>().map_err(drystone::author::Thrown::Malformed)?;
                    drystone::author::action_ended(drystone::author::sendable(Cart::put(self, p0, p1)).await)
                }
                "leave" => {
                    drystone::author::Params::read(&given.body, 0).map_err(drystone::author::Thrown::Malformed)?;
                    let returned = drystone::author::sendable(Cart::leave(self, env.context())).await;
                    drystone::author::returned(&returned)
                }
                "#alarm" => {
                    let () = <() as drystone::author::TakenBy<drystone::kinds::object::alarm>>::take(given)
                        .map_err(drystone::author::Thrown::Malformed)?;
                    let ended = drystone::author::sendable(Cart::abandoned(self, env.context())).await;
                    drystone::author::hook_ended(ended, drystone::author::nothing)
                }
                _ => Err(drystone::author::Thrown::Unknown),
            }
        })
    }

    fn init<'a>(_: &'a drystone::author::Env<__D, __A>) -> drystone::author::Making<'a, Self> {
        Box::pin(async { Err(drystone::author::Thrown::Unknown) })
    }
}

/// A handle of [`Cart`].
#[allow(private_interfaces)]
pub struct CartHandle<T = Cart, I = ()>(drystone::kinds::object::Verbs<T, I>);

#[automatically_derived]
impl<T, I> std::ops::Deref for CartHandle<T, I> {
    type Target = drystone::kinds::object::Verbs<T, I>;
    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

#[allow(dead_code, private_interfaces)]
impl CartHandle<Cart, ()> {
    /// Puts an item in; how many there are then.
    pub fn put(&self, item: String, count: u32) -> drystone::Call<usize, CartError> {
        let args = drystone::author::Args::new().put::<String>(&item).put::<u32>(&count);
        drystone::Call::new(
            self.address(),
            "put",
            args,
            drystone::author::read_answer::<usize>,
            drystone::author::read_error::<CartError>,
        )
    }
    pub fn total(&self) -> drystone::Call<u32> {
        let args = drystone::author::Args::new();
        let (read, thrown) = (drystone::author::read_answer::<u32>, drystone::author::read_error::<drystone::Never>);
        drystone::Call::new(self.address(), "total", args, read, thrown)
    }
    pub fn leave(&self) -> drystone::Call<()> {
        let args = drystone::author::Args::new();
        let (read, thrown) = (drystone::author::read_answer::<()>, drystone::author::read_error::<drystone::Never>);
        drystone::Call::new(self.address(), "leave", args, read, thrown)
    }
}

// #[derive(Services)]
struct Deps {
    prices: Prices,
}

impl drystone::Provide<Prices> for Deps {
    fn provide(&self) -> &drystone::author::Same<Prices> {
        &self.prices
    }
}

// #[derive(Primitives)]
#[allow(dead_code)]
struct App {
    cart: Cart,
}

struct AppClient {
    desk: drystone::author::Desk,
}

impl AppClient {
    fn cart(&self, key: impl AsRef<[u8]>) -> <Cart as drystone::Primitive>::Handle {
        <Cart as drystone::Primitive>::handle(self.desk.address("cart", key))
    }
}

impl drystone::Primitives for App {
    type Client = AppClient;
    fn client(desk: drystone::author::Desk) -> AppClient {
        AppClient { desk }
    }
}

impl<__D: Send + Sync + 'static> drystone::author::App<__D> for App
where
    Cart: drystone::author::Runs<__D, App>,
{
    fn register(registrar: &mut drystone::author::Registrar<__D, Self>) {
        registrar.add::<Cart>("cart");
    }
}

impl drystone::PartOf<App> for Cart {
    const NAME: &'static str = "cart";
}

// ---- what it does

#[tokio::test]
async fn a_cart_is_bound_by_its_first_write_and_keeps_what_it_is_given() {
    let runtime = Runtime::memory().services(Deps { prices: Prices(5) }).start::<App>().await.unwrap();
    let client = runtime.client();
    assert!(client.cart("a").total().await.unwrap_err().is_not_bound());
    assert_eq!(client.cart("a").put("apple".into(), 2).await.unwrap(), 2);
    assert_eq!(client.cart("a").total().await.unwrap(), 10);
    let full = client.cart("a").put("pear".into(), 2).await;
    assert!(matches!(full, Err(CallError::Failed(CartError::Full))));
    assert_eq!(client.cart("a").state().await.unwrap().unwrap().items, ["apple", "apple"]);
    assert!(client.cart("a").destroy().await.unwrap());
    assert_eq!(client.cart("a").state().await.unwrap(), None);
    runtime.shutdown(drystone::d!("1s")).await.unwrap();
}

#[tokio::test]
async fn an_alarm_rings_its_hook() {
    let runtime = Runtime::memory().services(Deps { prices: Prices(5) }).start::<App>().await.unwrap();
    let cart = runtime.client().cart("a");
    cart.leave().await.unwrap();
    let mut events = runtime.kernel().listen();
    drop(events.next());
    while cart.state().await.unwrap().unwrap().items.is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(cart.state().await.unwrap().unwrap().items, ["a"]);
}
