//! `/v1/policies`: an organization's policies are written, tried, put in shadow, put in force and taken back.
//!
//! An organization begins with the [`starter`] and may take its first own version from [`templates`]. Every version is
//! kept as it was written ([`versions`], [`diff`]) and checked before ([`validate`]; on threads that may be busy, one
//! of an organization at a time, [`check_pool`]). Which one answers the agents is decided by [`active_version`] and [`shadow`]; each such
//! step goes through [`change`] and is told to the trail by [`audit_events`]. Before a version is trusted it can be tried: on
//! one question ([`test_question`]), on the questions that were asked before ([`backtest`]) or on those that come
//! ([`shadow`]). The last two read decisions as they are recorded ([`policy::recorded`]) in one [`decision_scan`] and count how many would
//! be others ([`flips`]). `watchbell policy replay` makes the same decisions again without a server.
//! [`body`] is what is told over HTTP.
//! The data plane (`decisions`) hears of all this through the journal; `domain::policy_state` has the rules.

pub mod active_version;
mod audit_events;
pub mod backtest;
mod body;
mod change;
mod check_pool;
mod decision_scan;
pub mod diff;
pub mod flips;
mod schema;
pub mod shadow;
pub mod starter;
pub mod templates;
pub mod test_question;
pub mod validate;
pub mod versions;
