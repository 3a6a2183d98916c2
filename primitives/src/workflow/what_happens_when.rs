//! Answers to the question of what happens to a run: when the process dies, the code changes, time runs out
//! or something comes twice, and when a caller ends, pauses or restarts the run.
//!
//! Every answer has a link to its proof: `program::test` is a function in `tests/tests/program.rs` or in the
//! folder `tests/tests/program`. Run it with `cargo test --test program test`. The tests are not part of the
//! crate, so the links lead into the checkout from which `cargo doc` built these pages. A test checks that
//! all linked tests exist.
//!
//! # The process dies
//!
//! - **before a step begins**, or **while it runs**: the step is executed (again, if it had begun) under
//!   the same work id.
//!   [`workflow_steps::an_interrupted_step_runs_again_under_the_same_work_id`][workflow_steps]
//! - **after a step has ended, before the outcome is recorded**: the step is executed again. Pass the
//!   work id to other systems as an idempotency key: it lets them recognise the repetition.
//!   [`workflow_crashes::two_deaths_repeat_at_most_the_steps_in_flight`][workflow_crashes]
//! - **before, in or after the transaction of a transactional step**: its rows are written once.
//!   [`workflow_transactions::two_deaths_at_any_write_of_a_run_book_exactly_once`][workflow_transactions]
//! - **after the outcome is recorded**: the step is never executed again. The body is replayed from the
//!   records, and continues.
//!   [`workflow_steps::code_of_the_body_is_a_step_and_runs_once`][workflow_steps]
//! - **in the body**, between two awaits: nothing was stored, and the body runs this part again, with the
//!   same effect.
//!   [`workflow_time::nested_joins_and_races_resume_after_a_crash_at_every_commit`][workflow_time]
//! - **in the `#[cancelled]` body**: the body resumes like any other body.
//!   [`workflow_crashes::a_death_during_the_cleanup_does_not_prevent_the_cancel`][workflow_crashes]
//! - **twice, or more often**: each death costs at most one more execution of the steps in flight.
//!   [`workflow_crashes::two_deaths_repeat_at_most_the_steps_in_flight`][workflow_crashes]
//! - **while steps are undone**: the undo in flight is executed again, and the rest follow. Each undo is
//!   recorded once.
//!   [`workflow_undo::a_death_at_any_commit_undoes_each_step_once_in_order`][workflow_undo]
//! - **while a long step reports its progress**: the next attempt continues from the last report one second
//!   before the crash, or from a later one.
//!   [`workflow_heartbeats::an_attempt_after_a_crash_sees_progress_of_a_second_ago`][workflow_heartbeats]
//! - **while the state is updated**: the update is stored once, or its caller got no answer.
//!   [`workflow_updates::a_death_at_any_commit_neither_loses_nor_doubles_an_update`][workflow_updates]
//! - **while another entity is called**: the changes and the answer of the call happen once.
//!   [`workflow_calls::a_call_is_done_once_wherever_the_process_dies`][workflow_calls]
//! - **while the run holds a permit**: the run still holds it. No permit is lost, and no permit is out
//!   twice.
//!   [`workflow_permits::a_run_holds_its_permit_over_restarts_until_it_drops_it`][workflow_permits],
//!   [`workflow_permits::no_permit_is_lost_or_doubled_wherever_the_process_dies`][workflow_permits]
//! - **while a parent begins children, or waits for them**: each child begins once and ends once, and its
//!   end reaches the parent once.
//!   [`workflow_children::a_childs_end_reaches_its_parent_once_wherever_the_process_dies`][workflow_children]
//! - **between one generation and the next**, by `continue_as` or a restart: the change is one commit, made
//!   or not.
//!   [`workflow_generations::a_crash_at_any_commit_loses_no_generation_and_no_event`][workflow_generations],
//!   [`workflow_generations::a_restart_is_whole_or_not_at_all`][workflow_generations]
//! - **while a paused run still has a step under way**: the step is executed again, and nothing else begins.
//!   [`workflow_pausing::a_step_that_ran_at_the_pause_runs_again_after_a_crash`][workflow_pausing]
//! - **each time that a certain step runs**: after nine deaths with the step, and six controls in which the
//!   process lived without it, the run is held. A held run keeps its journal, and nothing is undone. The
//!   run resumes by `resume`, by `unpark`, or with another build.
//!   [`workflow_crashes::a_step_that_kills_the_process_each_time_holds_its_run`][workflow_crashes]
//! - **each time that a certain body runs** (it aborts, or the stack overflows): the run is held, and other
//!   runs continue.
//!   [`workflow_crashes::a_body_that_kills_the_process_each_time_is_held`][workflow_crashes]
//! - **again and again, for another reason**: no run is held, however many were under way.
//!   [`workflow_crashes::runs_that_were_merely_there_succeed_however_often_the_process_dies`][workflow_crashes]
//! - **while an event is sent**: the event is stored once, or the sender got no answer. With an idempotency
//!   key the sender may simply ask again.
//!   [`workflow_events::a_crash_at_any_commit_loses_no_event_and_takes_none_twice`][workflow_events]
//! - **and is down when a sleep or a deadline ends**: it ends when the process is back. The deadline does
//!   not move.
//!   [`workflow_time::a_sleep_that_is_due_during_downtime_ends_after_the_start`][workflow_time],
//!   [`workflow_time::a_deadline_is_fixed_when_it_is_first_reached_whatever_happens_then`][workflow_time]
//! - **or only sleeps for so long that another worker takes over**: the new worker continues each run where
//!   it stopped, with the same deadlines and events. The old worker can change nothing any more.
//!   [`workflow_takeover::a_takeover_does_not_move_the_deadline_of_a_wait`][workflow_takeover],
//!   [`workflow_takeover::a_running_step_runs_again_with_the_new_worker`][workflow_takeover],
//!   [`workflow_takeover::the_new_worker_has_the_queued_events_in_order`][workflow_takeover]
//! - **by an orderly shutdown**: running steps get a limited time to end, and the next process executes the
//!   others again. Nothing counts as a crash.
//!   [`workflow_crashes::a_shutdown_lets_steps_end_and_is_no_crash`][workflow_crashes]
//!
//! # Other code is deployed
//!
//! Runs of the old code are under way. Where the journal and the new code differ, a run stops as
//! [`Diverged`](super::RunPhase::Diverged) before it does anything. It says where and why, accepts events,
//! and resumes by itself with code that fits.
//!
//! - **A step was added** before a recorded operation: diverged, at that place.
//!   [`workflow_replay::a_step_that_was_added_is_noticed_at_its_place`][workflow_replay]
//! - **A step was removed**: diverged.
//!   [`workflow_replay::a_step_that_was_removed_is_noticed_at_its_place`][workflow_replay],
//!   [`workflow_replay::a_body_that_ends_where_the_journal_goes_on_is_noticed`][workflow_replay]
//! - **A step was renamed**: diverged, also if the step was under way.
//!   [`workflow_changes::a_running_step_that_was_renamed_stops_the_run`][workflow_changes]
//! - **Steps were reordered**: diverged, at the first.
//!   [`workflow_replay::steps_in_another_order_are_noticed_at_the_first`][workflow_replay]
//! - **A step is given another input**: diverged.
//!   [`workflow_replay::a_step_with_another_input_is_noticed`][workflow_replay]
//! - **The run waits for something else now**: diverged.
//!   [`workflow_replay::an_edit_after_the_last_entry_is_noticed`][workflow_replay],
//!   [`workflow_replay::an_edit_to_an_open_wait_is_found_in_the_history`][workflow_replay]
//! - **Only later code was changed**: the run continues with the new code.
//!   [`workflow_replay::a_history_is_replayed_against_todays_code`][workflow_replay]
//! - **A sleep takes longer or shorter**: a sleep that has begun keeps its deadline. Later sleeps take the
//!   new time.
//!   [`workflow_changes::a_sleep_that_began_ends_on_time_whatever_the_code_says`][workflow_changes]
//! - **The type of an input or of a result was changed**, so that recorded values cannot be read: diverged,
//!   with the path. A new field with `#[serde(default)]` is no such change.
//!   [`workflow_changes::an_input_or_outcome_that_todays_types_cannot_read_stops_the_run`][workflow_changes]
//! - **A pending step became transactional**: it is executed as a transactional step.
//!   [`workflow_transactions::a_step_that_waits_becomes_transactional_with_the_code`][workflow_transactions]
//! - **The type of the state was changed**: the replay makes the state anew. Until the run next moves,
//!   queries answer that the state cannot be read. A `#[cancelled]` body begins with the stored state. A
//!   run that is cancelled before its next move is therefore stopped, with the path, until code comes that
//!   can read the state.
//!   [`workflow_changes::a_state_of_another_type_is_made_anew_by_the_replay`][workflow_changes],
//!   [`workflow_changes::a_cleanup_whose_state_cannot_be_read_waits_for_code_that_can`][workflow_changes]
//! - **An option was changed** (attempts, backoff, retention): the new value applies at once, also to runs
//!   under way.
//!   [`workflow_changes::options_that_were_changed_hold_for_runs_that_are_under_way`][workflow_changes]
//! - **The workflow was removed**: its runs are parked and visible, and resume when the workflow is back.
//!   [`workflow_changes::a_run_is_parked_until_its_workflow_is_back`][workflow_changes]
//! - **The code asks which version it goes through**, by `flow.version("fees", 1..=2)`: runs that were past
//!   that place keep the old branch, later runs take the new branch, and each run keeps its choice.
//!   [`workflow_versions::a_run_that_was_past_it_keeps_the_lowest_version`][workflow_versions],
//!   [`workflow_versions::a_run_that_arrives_first_keeps_the_highest_version`][workflow_versions]
//! - **and the old branch was removed, though runs are pinned to it**: these runs stop as diverged, with a
//!   message, and resume with code that has the branch.
//!   [`workflow_versions::a_version_that_is_not_supported_stops_the_run`][workflow_versions]
//! - **An accepted update was removed from the code**: diverged. The run accepts no updates meanwhile.
//!   [`workflow_updates::a_run_whose_update_is_gone_diverges_until_it_is_back`][workflow_updates]
//! - **A schedule was changed**: the new times apply from then on. Existing runs are not affected.
//!   [`workflow_cron::another_schedule_is_followed_from_when_it_is_there`][workflow_cron]
//! - **The body panics now**: the run stops as [`Panicked`](super::RunPhase::Panicked). It resumes with
//!   other code or by `resume`. It is also tried again by itself, after a minute at first and every hour in
//!   the end, because the cause may lie elsewhere. A sleep behind the stop begins when the body reaches it.
//!   [`workflow_replay::a_stopped_run_is_retried_after_a_minute_and_then_hourly`][workflow_replay],
//!   [`workflow_replay::a_panic_of_the_body_stops_the_run_until_other_code_comes`][workflow_replay],
//!   [`workflow_replay::a_sleep_behind_a_stop_begins_when_the_run_reaches_it`][workflow_replay]
//! - **and you want to know before**: save the histories of important runs, and replay the folder in a test
//!   of one line.
//!   [`workflow_kit::a_folder_of_histories_is_replayed_by_one_line`][workflow_kit]
//!
//! # Time runs out
//!
//! - **for one attempt of a step**: the attempt is dropped and counts as failed. If it was the last
//!   attempt, the step ends in the fault [`TimedOut`](super::Cause::TimedOut), which fails the run unless
//!   the body catches it.
//!   [`workflow_steps::a_fault_fails_the_run_unless_it_is_caught`][workflow_steps]
//! - **because a step sends no heartbeat**: the attempt is dropped and counts as failed, like an attempt
//!   that takes too long.
//!   [`workflow_heartbeats::silence_beyond_its_limit_fails_the_attempt`][workflow_heartbeats]
//! - **for a wait**: the wait ends as an [`EventTimeout`](super::EventTimeout), once and in every replay. A
//!   later event stays queued for the next wait.
//!   [`workflow_events::a_timed_out_wait_leaves_the_event_to_the_next_wait`][workflow_events]
//! - **for the whole run**: use a `select!` of its work and a sleep. The loser is dropped where it is,
//!   together with its running steps, whose results are not recorded.
//!   [`workflow_time::a_race_releases_its_losers_in_the_same_commit`][workflow_time]
//! - **for a step whose result is still wanted**: race the step by reference. It continues when another arm
//!   wins.
//!   [`workflow_time::a_step_that_is_raced_by_reference_goes_on_when_another_wins`][workflow_time]
//!
//! # Something comes twice
//!
//! - **A start**: the second start is refused as `AlreadyExists`, and changes nothing. `start_or_get` with
//!   the same input finds the run.
//!   [`workflow_lifecycle::a_key_that_has_a_run_takes_no_other`][workflow_lifecycle]
//! - **An event**: with an idempotency key it is one event, without a key it is two.
//!   [`workflow_events::an_event_that_is_sent_twice_with_one_idempotency_key_is_one`][workflow_events]
//! - **An update**: with an idempotency key it is one update, without a key it is two.
//!   [`workflow_updates::an_update_that_is_asked_twice_with_one_idempotency_key_is_one`][workflow_updates]
//! - **The effect of a step** may happen twice. The work id is the same in all attempts and after any
//!   crash: pass it on as an idempotency key.
//!   [`workflow_steps::a_failing_step_is_tried_again_with_pauses_under_one_work_id`][workflow_steps]
//! - **The record of a step**: never.
//!   [`workflow_crashes::a_commit_with_a_lost_answer_is_made_once`][workflow_crashes]
//!
//! # A run is cancelled or terminated
//!
//! - **while a step runs**: `cancel` lets the step end and records its outcome. Then the `#[cancelled]`
//!   body runs.
//!   [`workflow_lifecycle::a_cancelled_run_ends_its_steps_then_cleans_up_then_is_cancelled`][workflow_lifecycle]
//! - **while a step hangs**: `cancel_abandoning_steps` drops the step, also after a `cancel`, and then
//!   continues like `cancel`. The outcome of the step is unknown.
//!   [`workflow_lifecycle::a_cancelled_run_that_abandons_its_steps_does_not_wait_for_them`][workflow_lifecycle],
//!   [`workflow_undo::an_abandoned_step_is_undone_as_one_with_unknown_outcome`][workflow_undo]
//! - **while a step runs, by `terminate`**: the step is dropped, no more code of the run is executed, and a
//!   late result changes nothing.
//!   [`workflow_lifecycle::a_terminated_run_ends_at_once_with_all_its_waits`][workflow_lifecycle],
//!   [`workflow_lifecycle::a_step_that_ends_during_a_terminate_is_dropped_and_counted`][workflow_lifecycle]
//! - **while it sleeps or waits, in memory or not**: the body is dropped at once, and everything it waited
//!   for goes in the same commit.
//!   [`workflow_lifecycle::a_run_that_is_not_in_memory_is_cancelled_and_terminated`][workflow_lifecycle]
//! - **and its steps have undos**: completed steps are undone, the last first, before the `#[cancelled]`
//!   body runs. `terminate` undoes nothing.
//!   [`workflow_undo::a_cancelled_run_outside_memory_is_undone_then_cleaned_up`][workflow_undo],
//!   [`workflow_undo::a_run_that_succeeds_or_is_terminated_undoes_nothing`][workflow_undo]
//! - **and an undo fails for good**, after its own attempts: `undos_failed` and `workflow.undo_failed`
//!   report it. The other undos run, and the run ends with its own error.
//!   [`workflow_undo::an_undo_that_fails_for_good_does_not_block_others`][workflow_undo]
//! - **and the outcome of a step is unknown** (it timed out, panicked, or lost a race while it ran): an
//!   undo that takes the step's input is due, with `None`.
//!   [`workflow_undo::an_undo_with_the_input_is_due_for_an_unknown_outcome`][workflow_undo],
//!   [`workflow_undo::a_running_step_that_lost_a_race_is_undone`][workflow_undo]
//! - **while a transactional step is on its way**: after `terminate` its rows do not appear any more.
//!   [`workflow_transactions::a_run_terminated_during_its_transaction_books_nothing`][workflow_transactions]
//! - **when it has ended**, or for the second time: the answer is `false`, and nothing changes.
//!   [`workflow_lifecycle::of_a_cancel_and_an_end_the_first_counts`][workflow_lifecycle]
//! - **when it is diverged or has panicked**: the same, because the body is not needed for this.
//!   [`workflow_replay::a_run_that_diverged_can_be_cancelled_and_terminated`][workflow_replay]
//! - **and then an event comes**: the event is refused as `Terminated`. Events that were queued and unread
//!   become dead letters.
//!   [`workflow_events::unknown_and_ended_runs_take_no_events`][workflow_events],
//!   [`workflow_lifecycle::events_that_nobody_took_are_dead_letters_when_the_run_ends`][workflow_lifecycle]
//! - **and then its key is used again**: refused until the retention of the run is over.
//!   [`workflow_lifecycle::a_run_is_kept_for_its_retention`][workflow_lifecycle]
//!
//! # A run is paused
//!
//! - **while a step runs**: the step ends, and its outcome is recorded. Nothing else begins until `resume`.
//!   [`workflow_pausing::a_pause_waits_for_the_step_that_runs_and_starts_no_other`][workflow_pausing]
//! - **and a deadline passes**: the deadline is due at `resume`. `resume_shifted` moves it by the length of
//!   the pause.
//!   [`workflow_pausing::timers_and_events_of_a_pause_take_effect_at_resume`][workflow_pausing],
//!   [`workflow_pausing::deadlines_stay_where_they_are_or_are_later_by_the_pause`][workflow_pausing]
//! - **and an event, an update or the end of a child comes**: the event is queued, the update is accepted,
//!   the end is recorded. Steps that follow begin at `resume`.
//!   [`workflow_pausing::timers_and_events_of_a_pause_take_effect_at_resume`][workflow_pausing],
//!   [`workflow_together::an_update_in_a_pause_takes_effect_at_resume`][workflow_together],
//!   [`workflow_together::a_child_that_ends_while_its_parent_is_paused_is_not_missed`][workflow_together]
//! - **and is cancelled, terminated or restarted**: the same as without a pause.
//!   [`workflow_pausing::a_run_that_is_paused_can_be_cancelled_and_terminated`][workflow_pausing],
//!   [`workflow_pausing::a_restart_ends_a_pause`][workflow_pausing]
//! - **while it is undone or cancelled**: `pause` answers `false`, because the run is ending.
//!   [`workflow_together::a_run_that_is_being_undone_is_not_paused`][workflow_together]
//!
//! # A run begins anew
//!
//! - **by `restart`, while it is live**: one commit removes its records, its waits and its work. Unread
//!   events stay.
//!   [`workflow_generations::a_restart_of_a_live_run_keeps_its_events`][workflow_generations]
//! - **by `restart`, when it has ended**, in whatever way: the same.
//!   [`workflow_together::a_run_that_ended_in_any_way_can_be_restarted`][workflow_together]
//! - **from one of its steps**: everything before the step is kept and not executed again. The step itself
//!   is executed, or has the result that the caller gave.
//!   [`workflow_generations::a_restart_from_a_step_keeps_what_came_before_it`][workflow_generations]
//! - **and it executed steps that have an undo**: effects of an older generation stand. Steps that
//!   `restart_from` keeps are due to be undone as before.
//!   [`workflow_together::what_an_older_generation_did_is_not_undone_by_a_later_one`][workflow_together],
//!   [`workflow_together::what_a_restart_keeps_is_due_to_be_undone`][workflow_together],
//!   [`workflow_undo::a_kept_step_that_lost_a_race_is_undone_once`][workflow_undo]
//! - **from one of its steps, before which a step was undone** or is being undone: refused, because the
//!   effect of that step does not stand any more. A restart from before that step is possible.
//!   [`workflow_together::a_restart_that_would_keep_an_undone_step_is_refused`][workflow_together]
//! - **from one of its steps, where it holds a permit**: refused. A permit that was given back before does
//!   not matter.
//!   [`workflow_together::a_restart_that_would_keep_a_permit_is_refused_and_changes_nothing`][workflow_together],
//!   [`workflow_together::a_restart_keeps_what_came_after_a_permit_that_was_given_back`][workflow_together]
//! - **by `continue_as`, with unread events**: the events stay queued, in their order.
//!   [`workflow_generations::a_new_generation_takes_the_unread_events_in_order`][workflow_generations]
//! - **while something of the old generation is under way**: a step is dropped, an awaited child is
//!   cancelled, and a permit comes back. Late results are dropped and counted.
//!   [`workflow_generations::the_outcome_of_an_older_generations_step_is_dropped`][workflow_generations],
//!   [`workflow_together::the_end_of_an_older_generations_child_is_dropped_and_counted`][workflow_together],
//!   [`workflow_together::a_permit_comes_back_with_its_generation`][workflow_together]
//! - **while a caller waits for its result**: the caller then waits for the result of the next generation.
//!   [`workflow_generations::whoever_waits_for_a_result_waits_over_all_generations`][workflow_generations]
//! - **ten thousand times**: the older generations leave nothing behind.
//!   [`workflow_generations::ten_thousand_generations_leave_nothing_behind_and_starve_nobody`][workflow_generations],
//!   [`workflow_generations::the_file_does_not_grow_with_its_generations`][workflow_generations]
//!
//! # A run has children
//!
//! - **and ends before them, or releases them**: awaited children are cancelled, with their cleanup.
//!   Abandoned and detached children continue.
//!   [`workflow_children::a_child_is_cancelled_with_its_parent`][workflow_children],
//!   [`workflow_children::an_abandoned_and_a_detached_child_go_on_without_their_parent`][workflow_children]
//! - **and one fails, is cancelled or destroyed**: the body of the parent gets this as a value.
//!   [`workflow_children::a_parent_has_the_result_of_its_child_or_its_error`][workflow_children],
//!   [`workflow_children::a_child_that_is_destroyed_has_ended`][workflow_children]
//! - **and is stopped, or not in memory, when one ends**: the parent learns of the end when it continues.
//!   [`workflow_children::a_parent_that_is_stopped_does_not_miss_its_child`][workflow_children],
//!   [`workflow_children::a_parent_that_sleeps_is_woken_by_its_child`][workflow_children]
//! - **very many of them**: the children begin in slices and are awaited together, 4,096 at most, with 3
//!   MiB of inputs.
//!   [`workflow_children::hundreds_of_children_are_waited_for_together`][workflow_children],
//!   [`workflow_children::the_inputs_of_a_thousand_children_need_not_fit_a_record`][workflow_children]
//! - **that outlive it by more than its retention**: the children end, and no parent is told.
//!   [`workflow_together::a_child_that_outlives_the_record_of_its_parent_ends_in_silence`][workflow_together]
//!
//! # It is started by the clock on the wall
//!
//! - **and the previous run is still going**, also if it is paused or stopped: the time is skipped and
//!   counted, queued, or run in parallel, as `overlap` says.
//!   [`workflow_cron::a_time_during_the_previous_run_is_skipped_queued_or_overlaps`][workflow_cron],
//!   [`workflow_cron::a_paused_or_continued_run_is_still_the_previous_run`][workflow_cron]
//! - **and the previous run is cancelled, terminated or destroyed**: the next run may start.
//!   [`workflow_cron::a_run_that_is_cancelled_terminated_or_destroyed_lets_the_next_go`][workflow_cron]
//! - **and nothing ran at its time**: the time is made up for, as `missed` says.
//!   [`workflow_cron::missed_times_are_made_up_for_as_declared`][workflow_cron]
//! - **and the process dies at any moment**: each time has one run.
//!   [`workflow_cron::a_crash_at_any_commit_starts_each_scheduled_run_once`][workflow_cron]
//!
//! # The store fails
//!
//! - **It is down, or the disk is full, when a step ends**: the result waits in memory and is recorded when
//!   the store is back. The step is not executed again.
//!   [`workflow_crashes::a_step_that_ends_while_the_store_is_down_is_recorded_later`][workflow_crashes]
//! - **when something is started or sent**: the call waits until its deadline (with a full disk it does not
//!   wait), and then fails with a retryable error.
//!   [`workflow_crashes::a_call_that_cannot_be_stored_is_refused_in_time`][workflow_crashes]
//! - **and the outcome of a commit is unknown**: the store is read back, and the commit happens once.
//!   [`workflow_crashes::a_commit_with_a_lost_answer_is_made_once`][workflow_crashes]
//!
//! # There is a lot of it
//!
//! - **Very many runs sleep**: they take rows, but no memory. Opening the store reads none of them, and
//!   each run wakes when it is due (`cargo load` has 100,000).
//!   [`workflow_crashes::sleeping_runs_are_not_read_at_the_start`][workflow_crashes]
//! - **A run records 50,000 entries**: it ends in the fault [`Limit`](super::Cause::Limit). Listeners get
//!   `workflow.long` at 40,000.
//!   [`workflow_traps::a_journal_with_too_many_entries_fails_its_run`][workflow_traps]
//! - **A run records more than 64 MiB in all**: the same fault. Listeners get `workflow.long` at four
//!   fifths.
//!   [`workflow_traps::a_journal_with_too_many_bytes_fails_its_run`][workflow_traps]
//! - **A run asks for more than 4,096 operations at once**: the same fault. Listeners get `workflow.wide`
//!   at 3,276.
//!   [`workflow_traps::too_many_operations_at_once_fail_their_run`][workflow_traps],
//!   [`workflow_traps::a_run_near_the_limit_of_operations_is_warned_of_once`][workflow_traps]
//! - **The inputs of these operations are long**: 3 MiB of inputs may be asked for at once. Beyond that,
//!   the same fault.
//!   [`workflow_traps::the_inputs_of_all_steps_need_not_fit_into_a_record`][workflow_traps]
//! - **An input, a result, an error or the state is longer than a mebibyte**: the run gets a fault with a
//!   message. The input of a caller is refused.
//!   [`workflow_traps::an_outcome_that_is_too_large_is_a_fault`][workflow_traps],
//!   [`workflow_traps::an_input_or_event_that_is_too_large_is_refused`][workflow_traps]
//! - **No wait takes the events**: 10,000 events of a type are queued, then senders get `Full`. After 7
//!   days events expire, and are counted. Both limits are options of the event.
//!   [`workflow_events::queues_are_capped_and_what_nobody_takes_expires`][workflow_events]
//!
//! # The body does what it should not
//!
//! - **It awaits something that is not durable**: a compile error. Where no macro sees it, the run stops
//!   with a message.
//!   [`workflow_traps::a_body_that_awaits_a_future_without_an_end_is_stopped`][workflow_traps],
//!   [`workflow_traps::a_body_that_something_else_wakes_is_stopped_at_once`][workflow_traps]
//! - **It gives its `flow` to code that runs beside it**: that code panics with a message.
//!   [`workflow_traps::a_step_inside_code_beside_the_body_panics`][workflow_traps]
//! - **It needs the time or random values**: `flow.now()`, `flow.random()` and `flow.uuid()` are the same
//!   in every replay.
//!   [`workflow_time::chance_and_time_are_the_same_in_every_replay`][workflow_time]
//! - **It gives its own code a strange name**: any name is allowed.
//!   [`workflow_traps::code_of_the_bodys_own_may_have_any_name`][workflow_traps]
//!
//! [workflow_calls]: ../../../../../tests/tests/workflow_calls.rs
//! [workflow_changes]: ../../../../../tests/tests/workflow_changes.rs
//! [workflow_children]: ../../../../../tests/tests/workflow_children.rs
//! [workflow_crashes]: ../../../../../tests/tests/workflow_crashes/main.rs
//! [workflow_cron]: ../../../../../tests/tests/workflow_cron.rs
//! [workflow_events]: ../../../../../tests/tests/workflow_events/main.rs
//! [workflow_generations]: ../../../../../tests/tests/workflow_generations/main.rs
//! [workflow_heartbeats]: ../../../../../tests/tests/workflow_heartbeats.rs
//! [workflow_kit]: ../../../../../tests/tests/workflow_kit.rs
//! [workflow_lifecycle]: ../../../../../tests/tests/workflow_lifecycle/main.rs
//! [workflow_pausing]: ../../../../../tests/tests/workflow_pausing/main.rs
//! [workflow_permits]: ../../../../../tests/tests/workflow_permits.rs
//! [workflow_replay]: ../../../../../tests/tests/workflow_replay/main.rs
//! [workflow_steps]: ../../../../../tests/tests/workflow_steps/main.rs
//! [workflow_takeover]: ../../../../../tests/tests/workflow_takeover.rs
//! [workflow_time]: ../../../../../tests/tests/workflow_time/main.rs
//! [workflow_together]: ../../../../../tests/tests/workflow_together/main.rs
//! [workflow_transactions]: ../../../../../tests/tests/workflow_transactions/main.rs
//! [workflow_traps]: ../../../../../tests/tests/workflow_traps/main.rs
//! [workflow_undo]: ../../../../../tests/tests/workflow_undo/main.rs
//! [workflow_updates]: ../../../../../tests/tests/workflow_updates.rs
//! [workflow_versions]: ../../../../../tests/tests/workflow_versions.rs
