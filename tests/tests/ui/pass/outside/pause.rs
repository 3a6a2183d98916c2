/// A kind from outside: calls its hook once after each quiet time.
pub mod pause {
    use std::time::Duration;

    use drystone::{
        Call, Primitive,
        author::{Args, Given, TakenBy},
        kind::{Answer, Done, Ended, Kind, Piece, Shown, Stop, Turn},
        literal,
    };

    #[derive(serde::Serialize)]
    pub struct Options {
        quiet: Duration,
    }

    impl Options {
        pub const NEW: Self = Self { quiet: Duration::from_secs(1) };

        #[track_caller]
        pub const fn quiet(mut self, text: &str) -> Self {
            self.quiet = literal::some_duration(text);
            self
        }

        pub const fn checked(self) -> Self {
            self
        }
    }

    #[allow(non_camel_case_types)]
    pub enum settled {}

    impl TakenBy<settled> for () {
        fn take(_: Given) -> Result<Self, String> {
            Ok(())
        }
    }

    impl Kind for Options {
        const NAME: &'static str = "pause";
        const VERBS: &'static [&'static str] = &["touch"];

        type Record = ();
        type Status = ();

        fn born(&self, _: &mut Turn<'_, ()>) {}

        fn verb(&self, turn: &mut Turn<'_, ()>, _: &str, _: &[u8]) -> Result<Answer, Stop> {
            let at = turn.now.after(self.quiet);
            turn.set_alarm(Some(at));
            Ok(Answer::done())
        }

        fn done(&self, turn: &mut Turn<'_, ()>, _: &Done, _: Ended) -> Result<(), Stop> {
            turn.set_alarm(None);
            Ok(())
        }

        fn work(&self, shown: &Shown<'_, ()>) -> Vec<Piece> {
            let due = shown.alarm.filter(|alarm| *alarm <= shown.now);
            due.map(|_| Piece::new("settled", 1)).into_iter().collect()
        }

        fn status(&self, _: &Shown<'_, ()>) {}

        fn run_count(&self, _: &()) -> u64 {
            0
        }
    }

    drystone::verbs! {
        pub struct Verbs;
    }

    impl<T: Primitive, I> Verbs<T, I> {
        pub fn touch(&self) -> Call<()> {
            self.address().call("touch", Args::new())
        }
    }
}
