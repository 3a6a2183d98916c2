//! The sources of both crates: an app of ten continuous primitives, five buffers and five objects, and its
//! types alone.

/// The number of primitives of each kind.
const CONTINUOUS: usize = 10;
const BUFFERS: usize = 5;
const OBJECTS: usize = 5;

/// The types and their derives.
pub(super) fn types() -> String {
    let names = |word: &'static str, count| (0..count).map(move |nth| (word, nth));
    let all = names("Clock", CONTINUOUS).chain(names("Inbox", BUFFERS)).chain(names("Cart", OBJECTS));
    let types: String = all.map(|(word, nth)| types_of(word, nth)).collect();
    format!("use serde::{{Deserialize, Serialize}};\n{types}")
}

/// The types, an `impl` block with four functions for each, and the app.
pub(super) fn app() -> String {
    let clocks = (0..CONTINUOUS).map(|nth| block("Clock", nth, "continuous, every = \"5m\"", CLOCK));
    let inboxes = (0..BUFFERS).map(|nth| block("Inbox", nth, "buffer, max_items = 50", INBOX));
    let carts = (0..OBJECTS).map(|nth| block("Cart", nth, "object", CART));
    let blocks: String = clocks.chain(inboxes).chain(carts).collect();
    let fields = |word: &'static str, count| (0..count).map(move |nth| field(word, nth));
    let fields: String =
        fields("Clock", CONTINUOUS).chain(fields("Inbox", BUFFERS)).chain(fields("Cart", OBJECTS)).collect();
    let uses = "use drystone::{Batch, Context, Primitives, primitive};\n";
    format!("{uses}{}{blocks}#[derive(Primitives)]\npub struct App {{\n{fields}}}\n", types())
}

fn types_of(word: &str, nth: usize) -> String {
    format!(
        "#[derive(Clone, Debug, Default, Serialize, Deserialize)]\n\
         pub struct {word}{nth} {{ pub count: u64, pub names: Vec<String>, pub last: Option<{word}Item{nth}> }}\n\
         #[derive(Clone, Debug, Serialize, Deserialize)]\n\
         pub struct {word}Item{nth} {{ pub id: u64, pub name: String, pub tags: Vec<String> }}\n\
         #[derive(Clone, Debug, Serialize, Deserialize)]\n\
         pub enum {word}Error{nth} {{ Full, Unknown(String) }}\n"
    )
}

fn field(word: &str, nth: usize) -> String {
    format!("    {}{nth}: {word}{nth},\n", word.to_lowercase())
}

/// An `impl` block. `ITEM` and `ERROR` in its functions stand for the types with its number.
fn block(word: &str, nth: usize, options: &str, hook: &str) -> String {
    let functions = format!("{hook}{ACTIONS}");
    let functions =
        functions.replace("ITEM", &format!("{word}Item{nth}")).replace("ERROR", &format!("{word}Error{nth}"));
    format!("#[primitive({options})]\nimpl {word}{nth} {{\n{functions}}}\n")
}

const CLOCK: &str = "
    #[tick]
    async fn tick(&mut self) -> Result<(), String> {
        self.count += 1;
        Ok(())
    }
";

const INBOX: &str = "
    #[flush]
    async fn push(&mut self, batch: Batch<ITEM>) -> Result<(), String> {
        self.count += batch.items.len() as u64;
        Ok(())
    }
";

const CART: &str = "
    #[alarm]
    async fn remind(&mut self) -> Result<(), String> {
        self.names.clear();
        Ok(())
    }
";

const ACTIONS: &str = "
    async fn put(&mut self, item: ITEM, cx: &Context) -> Result<u64, ERROR> {
        if self.count > 9 {
            return Err(ERROR::Full);
        }
        self.names.push(cx.key_text());
        self.last = Some(item);
        Ok(self.count)
    }
    async fn named(&self, name: String, most: u32) -> Vec<String> {
        self.names.iter().filter(|other| **other == name).take(most as usize).cloned().collect()
    }
    async fn last(&self) -> Result<ITEM, ERROR> {
        self.last.clone().ok_or_else(|| ERROR::Unknown(\"nothing\".to_owned()))
    }
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_app_is_its_types_and_twenty_primitives_of_four_functions() {
        let app = app();
        assert!(app.contains(&types()[..]));
        let count = |what: &str| app.matches(what).count();
        assert_eq!((count("#[primitive("), count("async fn "), count("pub struct ")), (20, 80, 41));
    }
}
