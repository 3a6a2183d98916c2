//! Which event goes where: no event is lost without being counted, and each has one place at any time.
//!
#![doc = include_str!("../../docs/events.svg")]
//!
//! Behind each answer is the test that shows it, in `tests/tests` of the repository: a name and no link, for tests are no part of the published
//! crate. A test sees to it that each of them is there.
//!
//! | what happens | where the event is then | shown by |
//! |---|---|---|
//! | it is sent to a run that waits for it | taken, in the commit that stores it | `workflow_events::an_event_that_is_waited_for_is_taken_in_the_commit_that_stores_it` |
//! | it is sent to a run that does not wait, or not yet | in the queue of the run, in order | `workflow_events::events_sent_before_their_waits_are_all_taken_in_order` |
//! | it is sent to a run that has ended, or that there is not | nowhere: its sender is told | `workflow_events::unknown_and_ended_runs_take_no_events` |
//! | the run ends, and it is still queued | a dead letter; or gone and counted, or published: `on_terminated` | `workflow_lifecycle::events_that_nobody_took_are_dead_letters_when_the_run_ends`, `dead_events::what_a_run_did_not_take_goes_where_its_type_says`, `dead_events::what_is_discarded_is_counted_and_told` |
//! | the run is destroyed, and it is still queued | the same; the run goes when that is done | `dead_events::what_a_run_did_not_take_that_is_destroyed_goes_where_its_type_says` |
//! | nobody takes it from the queue for `expires` | gone, counted and told | `workflow_events::an_event_that_has_expired_is_not_taken`, `dead_events::what_a_queue_loses_is_counted_and_told` |
//! | another is there, or comes, and its type keeps one: `keep` | one of the two is gone, counted and told | `dead_events::what_a_queue_loses_is_counted_and_told` |
//! | the run is restarted with `drop_events` | gone, counted and told | `dead_events::what_a_queue_loses_is_counted_and_told` |
//! | it is published for all, and runs wait | in the log, and with each of them, once | `topics::an_event_is_numbered_and_reaches_all_who_wait_and_nobody_else` |
//! | it is published for all, and nobody waits | in the log, for those who read from `created` or `start` | `topics::a_log_is_read_from_where_its_type_says_each_event_once_and_in_order` |
//! | … for `keep_for` | gone, and counted; the counts of a topic that is empty are kept as long again | `topics::what_a_log_keeps_no_longer_is_counted_and_told_and_seen_for_as_long_again` |
//! | two are published for all, and a run waits for one | the first with the run; the second in the log, for its next wait if that reads from `created` or `start` | `topics::of_two_that_are_published_to_one_wait_the_second_is_for_those_who_read_on` |
//! | it is published for one, and runs wait | with the one who waits longest | `topics::an_event_for_one_goes_to_the_one_who_waits_longest` |
//! | it is published for one, and nobody waits | pending, until somebody takes it | `topics::an_event_for_one_goes_to_the_one_who_waits_longest` |
//! | … for `keep_for` | a dead letter | `topics::an_event_that_nobody_takes_in_time_is_a_dead_letter_and_can_be_published_again` |
//! | it comes to a run that does not wait for it any more | in the log; one that is for one goes to the next | `topics::what_came_for_a_wait_that_is_over_goes_to_the_next` |
//! | it is on its way to a run that is terminated | in the log; one that is for one goes to the next, or is pending again | `topics::what_is_on_its_way_to_a_run_that_is_terminated_is_for_others` |
//! | it was kept for longer than a run queues events, or the process was down for so long | taken: it expires from when it came to the run | `topics::what_was_kept_for_longer_than_runs_queue_events_is_taken_all_the_same`, `topics::who_was_seen_waiting_gets_it_also_if_the_process_is_down_for_longer_than_events_are_queued` |
//! | it is published, then the deadline of a wait passes, then it comes | taken: it was there first | `topics::an_event_that_was_published_before_a_deadline_wins_over_it` |
//! | it comes for a wait of several, and the others do not in time | in the queue of the run, for its next wait | `topics::what_was_taken_for_a_wait_of_several_that_timed_out_is_not_lost` |
//! | the deadline passes, then it is published | for the next wait | `topics::what_is_published_after_a_deadline_is_for_the_next_wait` |
//! | the process dies when it is published, and a thousand wait | with all of them, once | `topics::a_thousand_who_wait_are_told_in_slices_each_once_wherever_the_process_dies` |
//! | the process dies between two waits of a run | with the run, each once | `topics::a_run_that_goes_from_wait_to_step_to_wait_hears_each_event_once_wherever_the_process_dies` |
//! | the same webhook comes twice | published once, with an idempotency key | `dead_events::what_is_published_twice_with_one_key_is_one_event` |
//! | a log is full | in it; the oldest is gone, and counted | `topics::a_log_keeps_so_many_and_counts_those_that_go_early` |
//! | too many are pending | nowhere: its publisher is told | `topics::a_topic_that_is_full_refuses_and_loses_nothing` |
//! | … and it was published with a commit, which cannot be refused any more | a dead letter | `topics::what_is_published_with_a_commit_and_finds_its_topic_full_is_a_dead_event_and_comes_back` |
//! | it is a dead letter, and there are 10,000 later ones | gone, counted and told | `dead_events::a_full_box_of_dead_letters_drops_the_oldest_and_counts_it` |
//! | it is a dead letter for 30 days | gone, counted and told | `typed_dead_letters::letters_expire_and_that_is_told`, `dead_events::letters_are_counted_whatever_becomes_of_them` |
//! | a dead letter is replayed | where it was going, at another entity, or on its topic; the letter is gone in the same commit | `dead_events::a_dead_event_is_replayed_to_its_run_to_another_and_to_its_topic` |
