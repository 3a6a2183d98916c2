//! The list of cases, and the macros that run them.

/// Runs the whole suite on one store. `conformance!(name, make)` makes a module `name` with one `#[test]` per
/// case.
///
/// `make` is called for every case with a [`Clock`](crate::store::conformance::Clock) for the store's leases
/// and a number of partitions. It returns a function that opens the store, which a case may call again after
/// it has dropped the store. A store without a disk returns the same store again.
///
/// ```
/// use std::{future::ready, sync::Arc};
/// use drystone_runtime::store::{Memory, Store};
///
/// drystone_runtime::conformance!(memory, |clock, partitions| {
///     let store: Arc<dyn Store> = Arc::new(Memory::new(move || clock.now(), partitions));
///     move || ready(store.clone())
/// });
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! conformance {
    ($name:ident, $make:expr) => {
        $crate::conformance_suite! { $name, $make;
            run_owned births:
                a_birth_is_read_back_whole
                an_unbound_key_reads_as_nothing
                a_birth_on_a_bound_key_is_stale_and_names_the_version_found
                an_id_is_given_to_one_entity_only
                the_same_key_in_two_spaces_is_two_entities
                every_reason_for_parking_comes_back
                every_phase_comes_back
                a_record_holds_the_extremes
                an_entity_of_another_key_is_refused
                a_key_in_the_wrong_partition_is_refused
                an_entity_is_born_with_a_later_version_than_its_id
                a_destroyed_key_is_free_for_another;
            run_owned guards:
                a_change_at_the_right_version_is_applied
                a_change_at_an_old_version_is_stale_and_writes_nothing
                a_change_from_the_future_is_stale
                a_change_of_a_destroyed_entity_is_stale
                a_late_change_of_an_old_incarnation_is_stale
                a_light_write_changes_version_head_state_and_time
                state_and_alarm_change_together
                status_and_alarm_change_together
                a_full_write_changes_the_rest
                the_same_change_twice_is_applied_once
                the_same_birth_twice_is_applied_once
                destroying_at_an_old_version_is_stale
                destroying_nothing_is_refused
                a_key_that_was_bound_meanwhile_does_not_stay_unbound
                a_bound_key_cannot_be_left_unbound
                an_entity_cannot_take_the_place_of_another;
            run epochs:
                epochs_only_grow_and_none_is_given_twice
                an_epoch_fits_the_upper_half_of_a_signed_version
                a_batch_that_was_overtaken_is_fenced_and_changes_nothing
                a_write_of_a_replaced_owner_is_fenced_and_changes_nothing
                a_lost_partition_fences_its_own_writes_only
                who_released_a_partition_writes_there_no_more
                an_epoch_that_was_never_given_is_fenced
                a_partition_that_nobody_owned_is_fenced
                a_write_whose_partition_is_not_named_is_refused
                the_new_owner_goes_on_where_the_old_one_ended
                a_lease_that_is_over_but_not_taken_still_writes;
            run leases:
                a_new_store_has_its_partitions_free_and_clean
                no_more_is_taken_than_asked_for
                a_live_lease_is_not_taken_by_another
                a_lease_ends_at_its_time_and_not_before
                leases_go_by_the_clock_of_the_store
                renewing_prolongs_a_lease
                a_lease_that_another_took_is_not_renewed
                a_lease_that_is_over_but_not_taken_can_be_renewed
                a_clean_end_is_seen_by_the_next_owner
                an_end_that_was_not_clean_is_seen_by_the_next_owner
                a_released_partition_given_up_uncleanly_is_not_clean
                who_takes_a_partition_learns_the_epoch_of_the_owner_that_ended_before
                what_is_released_is_free_at_once
                who_does_not_hold_a_partition_cannot_release_it
                a_worker_that_released_its_own_takes_it_again_under_a_new_epoch
                who_takes_more_keeps_what_it_has
                the_owners_of_the_others_are_named
                owners_whose_leases_are_over_are_not_named
                a_lease_without_end_does_not_overflow
                renewing_a_partition_that_does_not_exist_gives_nothing;
            run times:
                the_highest_time_told_by_a_batch_is_kept
                renewing_and_releasing_tell_the_time
                the_highest_time_of_a_lease_is_its_partitions
                who_takes_a_partition_is_told_what_the_one_before_was_told_and_tells_the_clock
                a_fenced_worker_tells_no_time
                the_clock_of_the_store_is_not_the_time_it_was_told;
            run_owned rows:
                rows_are_born_with_their_entity
                rows_are_in_bytewise_order
                a_range_begins_at_its_first_key
                a_range_can_be_read_backwards
                a_range_ends_at_its_limit
                lanes_whose_names_share_a_beginning_do_not_mix
                rows_of_two_entities_do_not_mix
                a_row_put_twice_is_there_once_with_its_last_body
                a_removed_row_is_gone
                a_light_write_can_carry_rows
                one_write_can_change_a_thousand_rows
                rows_without_an_entity_are_refused
                a_range_is_read_of_the_entity_that_is_asked_for
                an_entity_that_never_was_has_no_rows;
            run_owned lanes:
                a_dropped_lane_is_empty_at_once_and_the_others_stay
                a_put_into_a_dropped_lane_is_refused_and_writes_nothing
                a_stale_put_into_a_dropped_lane_is_stale
                a_put_into_a_lane_dropped_by_the_same_write_is_refused
                a_put_into_a_held_lane_is_refused
                a_held_lane_stays_readable
                a_held_lane_outlives_its_entity
                a_lane_can_be_held_by_the_write_that_destroys
                a_released_lane_is_gone
                a_held_lane_of_a_destroyed_entity_can_be_released
                releasing_a_lane_that_is_not_held_does_nothing
                a_destroyed_entity_has_no_rows
                a_new_incarnation_has_none_of_the_old_rows
                rows_of_a_write_that_destroys_are_not_looked_at
                a_stale_write_drops_no_lane
                the_next_lane_is_filled_by_the_write_that_drops_the_last;
            run_owned inbox:
                a_message_is_in_its_receivers_inbox
                messages_are_in_the_order_of_sending
                an_inbox_is_read_a_page_at_a_time
                a_message_is_taken_in_its_receivers_write
                a_message_is_taken_once
                a_write_that_takes_what_is_not_there_writes_nothing
                a_message_cannot_be_taken_from_another_inbox
                a_message_is_taken_on_a_key_that_stays_unbound
                a_message_that_is_tried_again_keeps_its_place
                trying_again_what_is_not_there_is_passed_over
                a_message_that_is_already_there_is_left_as_it_is
                a_stale_sender_sends_nothing
                an_inbox_outlives_its_receiver
                a_message_may_go_to_its_own_sender
                a_sender_needs_only_its_own_partition
                inboxes_of_keys_that_share_a_beginning_do_not_mix
                a_message_to_the_wrong_partition_is_refused_with_its_write
                one_write_takes_and_sends;
            run_owned remembered:
                a_reply_is_remembered_with_its_write
                a_repeat_is_stale_and_writes_nothing
                a_reply_past_its_time_is_replaced
                a_reply_past_its_time_is_read_until_it_is_swept
                a_reply_outlives_its_entity
                a_key_that_stays_unbound_can_remember
                any_hash_and_any_bytes_are_remembered
                one_write_can_remember_several;
            run_owned scans:
                alarms_ring_in_order_of_time
                no_alarm_rings_early
                alarms_of_one_moment_ring_by_id
                overdue_alarms_are_read_a_page_at_a_time_each_once
                a_due_entity_comes_whole_with_its_cursor
                parked_entities_do_not_ring
                an_alarm_that_was_moved_or_cleared_rings_there_only
                a_destroyed_entity_does_not_ring
                a_light_write_leaves_the_alarm_where_it_is
                the_last_moment_and_moments_before_1970_are_due_in_order
                only_the_partitions_asked_for_are_scanned
                no_partition_and_no_limit_give_nothing
                active_entities_are_found_by_id
                an_entity_at_rest_or_parked_is_not_active
                parked_entities_are_found_by_id
                keys_with_messages_are_found_whether_bound_or_not
                keys_with_messages_are_in_order_of_partition_and_key
                a_key_with_many_messages_is_found_once
                a_key_whose_messages_were_taken_is_not_found;
            run_owned listing:
                all_entities_are_listed_whole_by_id
                an_empty_store_lists_nothing
                pages_hold_each_entity_once
                the_last_page_says_that_it_is_the_last
                pages_are_stable_while_others_come_and_go
                a_listing_is_filtered_by_space
                a_listing_is_filtered_by_definition
                a_listing_is_filtered_by_status_and_phase
                a_listing_is_filtered_by_parking
                a_listing_is_filtered_by_what_is_due
                entities_of_another_configuration_are_listed
                filters_hold_together_and_across_pages
                what_nothing_will_wake_is_listed_as_stuck;
            run_owned sweeps:
                there_is_nothing_to_sweep_in_a_store_where_nothing_ended
                a_dropped_lane_is_swept_in_slices
                a_destroyed_entity_is_swept_in_slices
                a_held_lane_is_swept_only_when_it_is_released
                replies_past_their_time_are_swept_in_slices
                a_sweep_of_nothing_deletes_nothing
                empty_lanes_and_entities_without_rows_do_not_stop_the_sweep
                a_sweep_never_touches_what_lives;
            run_owned hostile:
                hostile_keys_do_not_meet
                keys_that_share_a_beginning_do_not_meet
                the_border_between_space_and_key_cannot_be_moved
                hostile_payloads_come_back
                hostile_rows_come_back
                hostile_lanes_do_not_meet
                hostile_names_come_back
                hostile_messages_come_back_to_hostile_keys
                hostile_configurations_come_back
                the_largest_key_and_payload_come_back
                four_mebibytes_in_one_write_come_back
                a_reply_kept_for_ever_is_kept;
            run_owned batches:
                a_stale_write_leaves_the_others_applied
                verdicts_are_in_the_order_of_the_writes
                a_refused_write_leaves_nothing_of_itself_and_all_of_the_others
                an_empty_batch_is_applied
                a_batch_of_many_writes_is_applied_in_one
                births_changes_and_ends_go_in_one_batch
                a_message_can_go_to_a_key_that_the_same_batch_binds
                a_configuration_is_kept_under_its_fingerprint
                reads_are_answered_in_the_order_asked
                a_write_that_says_nothing_changes_nothing;
            run_owned hints:
                a_message_hints_at_its_receivers_partition
                a_message_within_a_partition_hints_at_nothing
                a_listener_that_does_not_listen_stops_nobody;
            run_owned reopening:
                everything_is_there_after_reopening
                epochs_go_on_after_reopening
                an_owner_that_nobody_replaced_goes_on_after_reopening
                an_owner_that_was_replaced_stays_so_after_reopening
                a_clean_end_is_known_after_reopening
                the_highest_time_outlives_reopening
                what_was_dropped_or_held_stays_so_after_reopening;
            run choices:
                the_first_choice_is_answered_from_then_on
                a_choice_outlives_reopening;
        }
    };
}

/// Runs the cases of a store with SQL, [`Sql`](crate::store::sql::Sql), in addition to
/// [`conformance!`](crate::conformance): scripts, messages of transactions, migrations.
#[macro_export]
macro_rules! sql_conformance {
    ($name:ident, $make:expr) => {
        $crate::conformance_suite! { $name, $make;
            run_owned scripts:
                a_script_writes_its_rows_and_its_record
                a_script_that_was_run_is_not_run_again
                a_script_that_nobody_waits_for_is_not_run
                a_script_of_a_replaced_owner_is_fenced
                a_script_that_fails_leaves_nothing_and_the_others_are_kept
                a_message_of_a_script_is_in_its_receivers_inbox
                a_message_of_a_script_is_taken_by_its_receivers_write
                a_message_of_a_script_that_is_put_twice_is_there_once
                a_message_of_a_script_that_fails_or_is_fenced_is_nowhere
                a_script_cannot_reach_the_tables_of_the_store
                a_migration_is_applied_once
                a_migration_that_fails_leaves_nothing_and_those_before_it_stay
                a_migration_that_was_changed_or_left_out_is_named_and_nothing_is_applied;
        }
    };
}

/// Makes a module of cases for one store.
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_suite {
    ($name:ident, $make:expr; $($cases:tt)*) => {
        mod $name {
            use super::*;

            #[allow(dead_code, reason = "every test uses it; outside of tests there are none")]
            fn make(clock: $crate::store::conformance::Clock, partitions: u32) -> $crate::store::conformance::Opener {
                fn typed<F>(
                    make: impl FnOnce($crate::store::conformance::Clock, u32) -> F,
                ) -> impl FnOnce($crate::store::conformance::Clock, u32) -> F {
                    make
                }
                $crate::store::conformance::Opener::new(typed($make)(clock, partitions))
            }

            $crate::conformance_cases! { $($cases)* }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! conformance_cases {
    ($($run:ident $group:ident: $($case:ident)*;)*) => {
        $(mod $group {
            $(#[test]
            fn $case() {
                $crate::store::conformance::$run(super::make, $crate::store::conformance::$group::$case);
            })*
        })*
    };
}
