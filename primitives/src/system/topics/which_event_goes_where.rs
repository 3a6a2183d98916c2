//! Which event goes where: no event is lost without being counted, and an event is in one place at any time.
//!
#![doc = include_str!("../../../docs/events.svg")]
//!
//! Each answer names the test that shows it, in `tests/tests` of the repository. It is a name and no link,
//! because tests are no part of the published crate. A further test checks the names.
//!
//! | what happens | where the event is then | shown by |
//! |---|---|---|
//! | an event is sent to a run that waits for it | taken, in the commit that stores it | `workflow_events::an_awaited_event_is_taken_in_the_commit_that_stores_it` |
//! | an event is sent to a run that does not wait for it, or not yet | in the queue of the run, in order | `workflow_events::events_sent_before_their_waits_are_all_taken_in_order` |
//! | an event is sent to a run that has ended or does not exist | nowhere: the sender gets an error | `workflow_events::unknown_and_ended_runs_take_no_events` |
//! | the run ends while the event is queued | a dead letter by default; discarded and counted, or published, if `on_terminated` says so | `workflow_lifecycle::events_that_nobody_took_are_dead_letters_when_the_run_ends`, `dead_events::what_a_run_did_not_take_goes_where_its_type_says`, `dead_events::what_is_discarded_is_counted_and_told` |
//! | the run is destroyed while the event is queued | the same; the run is removed when that is done | `dead_events::events_of_a_destroyed_run_go_where_their_type_says` |
//! | the event is queued for longer than `expires` | removed, counted and reported | `workflow_events::an_event_that_has_expired_is_not_taken`, `dead_events::what_a_queue_loses_is_counted_and_told` |
//! | a second event comes to a queue that keeps a single event (`keep`) | one of the two is removed, counted and reported | `dead_events::what_a_queue_loses_is_counted_and_told` |
//! | the run is restarted with `drop_events` | removed, counted and reported | `dead_events::what_a_queue_loses_is_counted_and_told` |
//! | an event for all is published, and runs wait | in the log, and with each of these runs, once | `topics::an_event_is_numbered_and_reaches_all_who_wait_and_nobody_else` |
//! | an event for all is published, and no run waits | in the log, for runs that read from `created` or `start` | `topics::a_log_is_read_from_where_its_type_says` |
//! | an event for all is older than `keep_for` | removed and counted; the counts of an empty topic are kept for another `keep_for` | `topics::events_that_a_log_keeps_no_longer_are_counted_and_reported` |
//! | two events for all are published, and a run waits for one | the first with the run; the second in the log, for the next wait if that reads from `created` or `start` | `topics::of_two_events_for_one_wait_the_second_stays_in_the_log` |
//! | an event for one is published, and runs wait | with the run that waits longest | `topics::an_event_for_one_goes_to_the_one_who_waits_longest` |
//! | an event for one is published, and no run waits | pending, until a run takes it | `topics::an_event_for_one_goes_to_the_one_who_waits_longest` |
//! | an event for one is pending for longer than `keep_for` | a dead letter | `topics::an_event_that_no_run_takes_in_time_is_a_dead_letter` |
//! | a published event comes to a run that no longer waits for it | in the log; an event for one goes to the next wait | `topics::what_came_for_a_wait_that_is_over_goes_to_the_next` |
//! | a published event is in flight to a run that is terminated | in the log; an event for one goes to the next wait, or is pending again | `topics::an_event_in_flight_to_a_terminated_run_is_for_others` |
//! | a published event was kept, or the process was down, for longer than a run queues events | taken: it expires by the time when it came to the run | `topics::events_are_taken_that_were_kept_longer_than_runs_queue_events`, `topics::a_wait_gets_its_event_however_long_the_process_is_down` |
//! | an event is published, then the deadline of a wait passes, then the event is delivered | taken: it was published before the deadline | `topics::an_event_that_was_published_before_a_deadline_wins_over_it` |
//! | an event comes for a wait for several, and the others do not come in time | in the queue of the run, for its next wait | `topics::events_of_a_wait_for_several_that_timed_out_are_not_lost` |
//! | the deadline of a wait passes, then an event is published | for the next wait | `topics::what_is_published_after_a_deadline_is_for_the_next_wait` |
//! | the process dies when an event is published, and a thousand runs wait | with all of them, once | `topics::a_thousand_waits_get_an_event_once_wherever_the_process_dies` |
//! | the process dies between two waits of a run | with the run, each event once | `topics::a_death_between_two_waits_loses_and_doubles_no_event` |
//! | the same webhook comes twice | published once, with an idempotency key | `dead_events::what_is_published_twice_with_one_key_is_one_event` |
//! | an event is published on a full log | in the log; the oldest event is removed and counted | `topics::a_log_keeps_so_many_and_counts_those_that_go_early` |
//! | an event for one is published, and too many are pending | nowhere: the publisher gets an error | `topics::a_topic_that_is_full_refuses_and_loses_nothing` |
//! | the same, but the event was published with a commit, which cannot be refused any more | a dead letter | `topics::a_committed_event_for_a_full_topic_is_a_dead_letter` |
//! | the event is a dead letter, and 10,000 later letters come | removed, counted and reported | `dead_events::a_full_box_of_dead_letters_drops_the_oldest_and_counts_it` |
//! | the event is a dead letter for 30 days | removed, counted and reported | `typed_dead_letters::letters_expire_and_that_is_told`, `dead_events::letters_are_counted_whatever_becomes_of_them` |
//! | a dead letter is replayed | at its receiver, at another entity, or on its topic; the letter is removed in the same commit | `dead_events::a_dead_event_is_replayed_to_runs_and_to_its_topic` |
