//! Inspection of a key, beside its calls: what it waits for, what is stored, and how to resume it (E10,
//! E14).

use drystone_runtime::{Kernel, Key, kernel::Explain};

use crate::{Address, Error, View};

impl Address {
    /// Explains what the key waits for.
    pub(crate) async fn explain(&self) -> Result<Explain, Error> {
        let explained = self.inspect(|kernel, key| async move { kernel.explain(&key).await }).await?;
        self.check_bound(explained.definition.as_deref())?;
        Ok(explained)
    }

    /// Returns everything stored under the key.
    pub(crate) async fn view(&self) -> Result<Option<View>, Error> {
        let view = self.inspect(|kernel, key| async move { kernel.view(&key).await }).await?;
        self.check_bound(view.as_ref().map(|view| view.entity.definition.as_str()))?;
        Ok(view.map(View::from))
    }

    /// Resumes a parked entity. Returns `false` if the entity was not parked.
    pub(crate) async fn unpark(&self) -> Result<bool, Error> {
        // Between these two lines the key may be bound to another definition. That entity is then unparked,
        // too, at the cost of one more try.
        self.view().await?;
        self.inspect(|kernel, key| async move { kernel.unpark(&key).await }).await
    }

    async fn inspect<T, F>(&self, ask: impl Fn(Kernel, Key) -> F + Send + Sync) -> Result<T, Error>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Error>> + Send + 'static,
    {
        let key = self.full_key()?;
        self.desk().ask(|kernel| ask(kernel, key.clone())).await
    }

    /// Refuses a key that is bound to another definition, which can happen with shared keys (E2).
    fn check_bound(&self, bound: Option<&str>) -> Result<(), Error> {
        match bound.filter(|bound| *bound != self.definition()) {
            None => Ok(()),
            Some(bound) => Err(Error::TypeMismatch {
                key: self.full_key()?,
                bound: bound.to_owned(),
                requested: self.definition().to_owned(),
            }),
        }
    }
}
