//! What the fleet's file says in the end, and whether that is as promised.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    time::Duration,
};

use anyhow::Result;
use drystone::{
    CallError, Failure, RunError, Runtime,
    workflow::{Cause, History, RunPhase},
};

use super::{
    super::verdict::Verdict,
    App, Deps, FERRIES, Fate, GUILTY, LED, SHIPS, SIGNALS, beside, convoy,
    convoy::{BOATS, HARBOURS, harbour},
    ferry,
    ferry::FARES,
    ship,
    voyage::LEGS,
    wreck,
    wreck::{AGROUND, operations as undone},
};

/// What became of each voyage.
#[derive(Debug, Default)]
pub(in super::super) struct Evidence {
    voyages: Vec<Ended>,
    /// How the guilty one ended.
    guilty: String,
    /// What each convoy came to, and what its boats should be.
    convoys: Vec<(Option<Vec<u64>>, Vec<u64>)>,
    /// All that was entered in a harbour.
    entered: Vec<u64>,
    /// What each ferry took, and in which generation that ended.
    ferries: Vec<(String, Vec<u32>, u32)>,
    wrecks: Vec<Wrecked>,
}

/// How a run that is undone ended.
#[derive(Clone, Debug)]
struct Wrecked {
    key: String,
    error: String,
    /// The operations that its journal has, in order.
    operations: Vec<String>,
}

#[derive(Clone, Debug)]
struct Ended {
    key: String,
    phase: Option<RunPhase>,
    legs: Vec<u32>,
    signals: Vec<u32>,
    /// The operations that its journal has, in order.
    operations: Vec<String>,
    /// The legs in the logbook, in order.
    booked: Vec<u32>,
}

impl Evidence {
    pub(in super::super) async fn gather(file: &Path) -> Result<Self> {
        let deps = Deps { fate: Fate::Lives };
        let app = Runtime::sqlite(beside(file)).services(deps).start::<App>().await?;
        let mut evidence = Self::default();
        let mut logbook = logbook(&app).await?;
        for number in 0..SHIPS {
            let booked = logbook.remove(&number).unwrap_or_default();
            evidence.voyages.push(ended(&app, ship(number), booked).await?);
        }
        evidence.guilty = match app.client().voyage(GUILTY).try_result().await {
            Err(CallError::Failed(RunError::Fault(fault))) if matches!(fault.cause, Cause::Exhausted { .. }) => {
                String::new()
            }
            other => format!("{other:?}"),
        };
        evidence.look_at_convoys(&app).await?;
        evidence.look_at_ferries(&app).await?;
        evidence.look_at_wrecks(&app).await?;
        app.shutdown(Duration::from_secs(10)).await?;
        Ok(evidence)
    }

    async fn look_at_convoys(&mut self, app: &Runtime<App>) -> Result<()> {
        for number in (0..SHIPS).step_by(LED as usize) {
            let ended = app.client().convoy(convoy(number)).try_result().await.unwrap_or_default();
            self.convoys.push((ended, (0..BOATS).map(|nth| number * BOATS + nth).collect()));
        }
        for number in 0..HARBOURS {
            let harbour = app.client().harbour(harbour(number)).state().await?;
            self.entered.extend(harbour.map(|harbour| harbour.entered).unwrap_or_default());
        }
        Ok(())
    }

    async fn look_at_ferries(&mut self, app: &Runtime<App>) -> Result<()> {
        for number in 0..FERRIES {
            let run = app.client().ferry(ferry(number));
            let taken = run.try_result().await.ok().flatten().unwrap_or_default();
            let generation = run.status().await?.map_or(0, |status| status.generation);
            self.ferries.push((ferry(number), taken, generation));
        }
        Ok(())
    }

    async fn look_at_wrecks(&mut self, app: &Runtime<App>) -> Result<()> {
        for number in (0..SHIPS).step_by(LED as usize) {
            let (key, run) = (wreck(number), app.client().wreck(wreck(number)));
            let error = match run.try_result().await {
                Err(CallError::Failed(RunError::Failed(error))) => error,
                other => format!("{other:?}"),
            };
            let operations = operations(run.history().await);
            self.wrecks.push(Wrecked { key, error, operations });
        }
        Ok(())
    }

    /// Each ferry has taken every fare once, in order, with a generation for each.
    fn judge_ferries(&self, verdict: &mut Verdict) {
        for (key, taken, generation) in &self.ferries {
            let distinct: BTreeSet<_> = taken.iter().collect();
            if distinct.len() != taken.len() {
                verdict.doubled.push(format!("{key} has taken {taken:?}"));
            } else if distinct.len() != FARES as usize {
                verdict.lost.push(format!("{key} has taken {taken:?}"));
            } else if !taken.is_sorted() || *generation != FARES + 1 {
                verdict.wrong.push(format!("{key} has taken {taken:?} in {generation} generations"));
            }
        }
    }

    /// Each wreck has failed with its own error, and each of its steps is undone, recorded once, the last first.
    fn judge_wrecks(&self, verdict: &mut Verdict) {
        for Wrecked { key, error, operations } in &self.wrecks {
            let distinct: BTreeSet<_> = operations.iter().collect();
            if distinct.len() != operations.len() {
                verdict.doubled.push(format!("{key} has recorded {operations:?}"));
            } else if error != AGROUND {
                verdict.lost.push(format!("{key} ended with {error}"));
            } else if *operations != undone() {
                verdict.wrong.push(format!("{key} has recorded {operations:?}"));
            }
        }
    }

    /// Each convoy has all its boats, and each boat was entered once.
    fn judge_convoys(&self, verdict: &mut Verdict) {
        let mut entered = BTreeSet::new();
        for id in &self.entered {
            if !entered.insert(id) {
                verdict.doubled.push(format!("boat {id} was entered twice"));
            }
        }
        for (ended, boats) in &self.convoys {
            if ended.as_ref() != Some(boats) {
                verdict.lost.push(format!("a convoy of {boats:?} came to {ended:?}"));
            }
            for boat in boats.iter().filter(|boat| !entered.contains(boat)) {
                verdict.lost.push(format!("boat {boat} was not entered"));
            }
        }
    }

    /// Each voyage has ended, with each leg and each signal once, and nothing is recorded twice.
    pub(in super::super) fn judge(&self, verdict: &mut Verdict) {
        let mut signals = SIGNALS.to_vec();
        signals.sort_unstable();
        for voyage in &self.voyages {
            let mut heard = voyage.signals.clone();
            heard.sort_unstable();
            if voyage.phase != Some(RunPhase::Succeeded) {
                verdict.lost.push(format!("{} is {:?}", voyage.key, voyage.phase));
            } else if voyage.legs != (0..LEGS).collect::<Vec<_>>() || heard != signals {
                verdict.wrong.push(format!("{} has {:?} and heard {:?}", voyage.key, voyage.legs, voyage.signals));
            }
            let distinct: BTreeSet<_> = voyage.operations.iter().collect();
            if distinct.len() != voyage.operations.len() {
                verdict.doubled.push(format!("{} has recorded {:?}", voyage.key, voyage.operations));
            }
            let steps = voyage.operations.iter().filter(|operation| operation.starts_with("book#")).count();
            let distinct: BTreeSet<_> = voyage.booked.iter().collect();
            if distinct.len() != voyage.booked.len() {
                verdict.doubled.push(format!("{} has booked {:?}", voyage.key, voyage.booked));
            } else if voyage.booked.len() != steps {
                let wrong = format!("{} has booked {:?} and recorded {steps} of them", voyage.key, voyage.booked);
                verdict.wrong.push(wrong);
            }
        }
        self.judge_convoys(verdict);
        self.judge_ferries(verdict);
        self.judge_wrecks(verdict);
        if !self.guilty.is_empty() {
            verdict.wrong.push(format!("the guilty voyage was not given up: {}", self.guilty));
        }
    }
}

/// The legs that each ship has booked.
async fn logbook(app: &Runtime<App>) -> Result<BTreeMap<u64, Vec<u32>>> {
    let rows = app.transaction(|sql| {
        let sql = sql.query("SELECT ship, leg FROM logbook WHERE ship >= 0 ORDER BY rowid", (), |row| {
            Ok((row.get::<u64>("ship")?, row.get::<u32>("leg")?))
        });
        sql.map_err(Failure::from)
    });
    let mut booked = BTreeMap::<u64, Vec<u32>>::new();
    for (ship, leg) in rows.await.map_err(|error| anyhow::anyhow!("the logbook cannot be read: {error}"))? {
        booked.entry(ship).or_default().push(leg);
    }
    Ok(booked)
}

async fn ended(app: &Runtime<App>, key: String, booked: Vec<u32>) -> Result<Ended> {
    let run = app.client().voyage(&key);
    let phase = run.status().await?.map(|status| status.phase);
    let (legs, signals) = match run.try_result().await {
        Ok(result) => result.unwrap_or_default(),
        Err(_) => Default::default(),
    };
    let operations = operations(run.history().await);
    Ok(Ended { key, phase, legs, signals, operations, booked })
}

/// What a run has recorded; nothing, if a campaign was broken off before it was started.
fn operations<E>(history: Result<History, E>) -> Vec<String> {
    history.map(|history| history.operations().map(str::to_owned).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept() -> Evidence {
        let operations = ["sail#1", "book#1", "sail#2", "book#2"].map(str::to_owned).to_vec();
        let (legs, signals) = ((0..LEGS).collect(), SIGNALS.to_vec());
        let booked = vec![0, 1];
        let voyage = Ended { key: ship(0), phase: Some(RunPhase::Succeeded), legs, signals, operations, booked };
        Evidence {
            voyages: vec![voyage],
            convoys: vec![(Some(vec![0, 1]), vec![0, 1])],
            entered: vec![1, 0],
            ferries: vec![(ferry(0), (1..=FARES).collect(), FARES + 1)],
            wrecks: vec![Wrecked { key: wreck(0), error: AGROUND.to_owned(), operations: undone() }],
            ..Evidence::default()
        }
    }

    fn judged(change: impl FnOnce(&mut Evidence)) -> String {
        let (mut evidence, mut verdict) = (kept(), Verdict::default());
        change(&mut evidence);
        evidence.judge(&mut verdict);
        verdict.to_string().lines().last().unwrap_or_default().to_owned()
    }

    #[test]
    fn a_voyage_is_whole_lost_doubled_or_wrong() {
        assert_eq!(judged(|_| {}), "0 kills: 0 lost, 0 doubled");
        assert_eq!(judged(|evidence| evidence.voyages[0].phase = None), "0 kills: 1 lost, 0 doubled");
        assert_eq!(judged(|evidence| evidence.voyages[0].phase = Some(RunPhase::Failed)), "0 kills: 1 lost, 0 doubled");
        let twice = judged(|evidence| evidence.voyages[0].operations.push("sail#1".into()));
        assert_eq!(twice, "0 kills: 0 lost, 1 doubled");
        let one_leg = judged(|evidence| evidence.voyages[0].legs.truncate(1));
        assert_eq!(one_leg, "0 kills: 0 lost, 0 doubled, 1 wrong");
        let one_signal = judged(|evidence| evidence.voyages[0].signals.truncate(1));
        assert_eq!(one_signal, "0 kills: 0 lost, 0 doubled, 1 wrong");
        assert_eq!(judged(|evidence| evidence.entered.push(0)), "0 kills: 0 lost, 1 doubled");
        assert_eq!(judged(|evidence| evidence.entered.truncate(1)), "0 kills: 1 lost, 0 doubled");
        assert_eq!(judged(|evidence| evidence.convoys[0].0 = None), "0 kills: 1 lost, 0 doubled");
        let booked_twice = judged(|evidence| evidence.voyages[0].booked[1] = 0);
        assert_eq!(booked_twice, "0 kills: 0 lost, 1 doubled");
        let unbooked = judged(|evidence| evidence.voyages[0].booked.truncate(1));
        assert_eq!(unbooked, "0 kills: 0 lost, 0 doubled, 1 wrong");
        assert_eq!(judged(|evidence| evidence.ferries[0].1[2] = 1), "0 kills: 0 lost, 1 doubled");
        assert_eq!(judged(|evidence| evidence.ferries[0].1.truncate(3)), "0 kills: 1 lost, 0 doubled");
        assert_eq!(judged(|evidence| evidence.ferries[0].1.swap(0, 1)), "0 kills: 0 lost, 0 doubled, 1 wrong");
        assert_eq!(judged(|evidence| evidence.ferries[0].2 -= 1), "0 kills: 0 lost, 0 doubled, 1 wrong");
        let undone_twice = judged(|evidence| evidence.wrecks[0].operations.push("undo/load#1/unload#1".into()));
        assert_eq!(undone_twice, "0 kills: 0 lost, 1 doubled");
        assert_eq!(judged(|evidence| evidence.wrecks[0].error = "None".into()), "0 kills: 1 lost, 0 doubled");
        let not_undone = judged(|evidence| drop(evidence.wrecks[0].operations.pop()));
        assert_eq!(not_undone, "0 kills: 0 lost, 0 doubled, 1 wrong");
        assert_eq!(judged(|evidence| evidence.guilty = "it lives".into()), "0 kills: 0 lost, 0 doubled, 1 wrong");
    }
}
