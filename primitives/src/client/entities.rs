//! Listings of entities (R6).

use std::{fmt, marker::PhantomData, pin::Pin, str::FromStr};

use drystone_runtime::{Entity, Kernel, Millis, Name, Phase, Version, store::Query};
use serde::{Deserialize, Serialize};

use crate::{
    Desk, Error, PartOf, Timestamp, View,
    app::definitions::{Definitions, is_ours},
};

/// The most entities on one page.
const LIMIT_MAX: usize = 1_000;

/// A listing of entities: set filters, and await it. Without filters it lists all entities of the app, 100
/// at a time, in the order in which they were bound.
///
/// ```no_run
/// # async fn show<A: drystone::Primitives>(runtime: drystone::Runtime<A>) -> Result<(), drystone::Error> {
/// let page = runtime.entities().primitive("cart").failing().limit(20).await?;
/// let rest = runtime.entities().primitive("cart").failing().after(page.next.unwrap()).await?;
/// # Ok(()) }
/// ```
#[must_use = "a listing does nothing until it is awaited"]
pub struct Entities<A> {
    desk: Desk,
    definitions: Definitions,
    query: Query,
    is_failing: bool,
    error: Option<Error>,
    app: PhantomData<fn() -> A>,
}

/// A page of a listing.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Page {
    /// The entities.
    pub entities: Vec<View>,
    /// Where the next page begins: pass it to [`Entities::after`]. `None` on the last page.
    pub next: Option<Cursor>,
}

/// A position in a listing, which can be stored as text. Entities that come or go do not move any other
/// entity to another page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Cursor(Version);

/// The error of a text that is not a [`Cursor`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is not a place in a listing; pass what a page gave as `next`")]
pub struct NotACursor;

impl<A> Entities<A> {
    pub(crate) fn new(desk: Desk, definitions: Definitions) -> Self {
        let query = Query::default();
        Self { desk, definitions, query, is_failing: false, error: None, app: PhantomData }
    }

    /// Lists the primitive with this name only. An unknown name is an error that lists the names of the app
    /// (E9).
    pub fn primitive(mut self, name: &str) -> Self {
        match self.definitions.get(name) {
            Ok(definition) => self.query.definition = Some(definition.name.clone()),
            Err(error) => self.error = Some(error),
        }
        self
    }

    /// Lists this primitive only.
    pub fn of<T: PartOf<A>>(self) -> Self {
        self.primitive(T::NAME)
    }

    /// Lists entities with this status only, in the word of their kind: `"error"`, `"running"`.
    pub fn status(mut self, word: &str) -> Self {
        self.query.status = Some(Name::from(word.to_owned()));
        self
    }

    /// Lists only entities that need attention: given up by their kind, or parked.
    pub fn failing(mut self) -> Self {
        self.is_failing = true;
        self
    }

    /// Lists parked entities only. They do not run, because their stored bytes cannot be read, because their
    /// primitive is not registered, or because they killed the process too often.
    pub fn parked(mut self) -> Self {
        self.query.parked = Some(true);
        self
    }

    /// Lists entities whose alarm is due before this time only.
    pub fn due_before(mut self, time: impl Into<Timestamp>) -> Self {
        self.query.due_until = Some(Millis(time.into().as_millis().saturating_sub(1)));
        self
    }

    /// Limits the page to `limit` entities; the default is 100, and the maximum 1,000.
    pub fn limit(mut self, limit: usize) -> Self {
        self.query.limit = limit.clamp(1, LIMIT_MAX);
        self
    }

    /// Lists the entities after this position: [`Page::next`].
    pub fn after(mut self, cursor: Cursor) -> Self {
        self.query.after = Some(cursor.0);
        self
    }

    async fn page(self) -> Result<Page, Error> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let (mut found, mut query) = (Vec::new(), self.query.clone());
        loop {
            query.limit = self.query.limit - found.len();
            let (entities, next) = self.list(&query).await?;
            found.extend(entities.into_iter().filter(|entity| !is_ours(&entity.definition)));
            query.after = next;
            if next.is_none() || found.len() >= self.query.limit {
                return Ok(Page { entities: self.shown(found).await?, next: next.map(Cursor) });
            }
        }
    }

    /// Lists entities. An entity is failing if its kind gave it up, or if it is parked. A store finds the
    /// two sorts one after the other, so both lists are merged in the order of ids.
    async fn list(&self, query: &Query) -> Result<(Vec<Entity>, Option<Version>), Error> {
        if !self.is_failing || query.parked == Some(true) {
            let page = self.ask(query.clone()).await?;
            return Ok((page.entities, page.next));
        }
        let failing = Query { phase: Some(Phase::Failing), parked: Some(false), ..query.clone() };
        let (failing, parked) =
            (self.ask(failing).await?, self.ask(Query { parked: Some(true), ..query.clone() }).await?);
        let is_more = failing.next.is_some() || parked.next.is_some();
        let mut both = [failing.entities, parked.entities].concat();
        both.sort_by_key(|entity| entity.id);
        // An entity that was parked between the two listings is in both.
        both.dedup_by_key(|entity| entity.id);
        let is_more = is_more || both.len() > query.limit;
        both.truncate(query.limit);
        let next = both.last().filter(|_| is_more).map(|last| last.id);
        Ok((both, next))
    }

    async fn ask(&self, query: Query) -> Result<drystone_runtime::store::Page, Error> {
        self.desk
            .ask(|kernel| {
                let query = query.clone();
                async move { kernel.list(query).await }
            })
            .await
    }

    async fn shown(&self, entities: Vec<Entity>) -> Result<Vec<View>, Error> {
        let mut views = Vec::with_capacity(entities.len());
        for entity in entities {
            views.push(match self.definitions.config(&entity.definition, entity.config) {
                Some(config) => View::of(&entity, Some(config)),
                // The entity has not run since its options changed, so its old options are in the store.
                None => {
                    let key = entity.key.clone();
                    let asked = |kernel: Kernel| {
                        let key = key.clone();
                        async move { kernel.view(&key).await }
                    };
                    let stored = self.desk.ask(asked).await?;
                    let stored = stored.filter(|view| view.entity.config == entity.config);
                    View::of(&entity, stored.and_then(|view| view.config).as_deref())
                }
            });
        }
        Ok(views)
    }
}

impl<A: 'static> IntoFuture for Entities<A> {
    type Output = Result<Page, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.page())
    }
}

impl<A> fmt::Debug for Entities<A> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Entities").field("query", &self.query).finish_non_exhaustive()
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:016x}", self.0.0)
    }
}

impl FromStr for Cursor {
    type Err = NotACursor;

    fn from_str(text: &str) -> Result<Self, NotACursor> {
        let is_one = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u64::from_str_radix(text, 16).ok().filter(|_| is_one);
        number.map(|number| Self(Version(number))).ok_or(NotACursor)
    }
}

impl From<Cursor> for String {
    fn from(cursor: Cursor) -> Self {
        cursor.to_string()
    }
}

impl TryFrom<String> for Cursor {
    type Error = NotACursor;

    fn try_from(text: String) -> Result<Self, NotACursor> {
        text.parse()
    }
}
