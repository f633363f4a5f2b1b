//! `/v1/policies`: an organisation's policies are written, tried, watched, put in force and taken back.
//!
//! An organisation begins with the [`starter`] and may take its first own version from [`templates`]. Every version is
//! kept as it was written ([`versions`], [`diff`]) and checked before ([`validate`]; on threads that may be busy, one
//! of an organisation at a time, [`checks`]). Which one answers the agents is decided by [`standing`] and [`shadow`]; each such
//! step goes through [`change`] and is told to the trail by [`tell`]. Before a version is trusted it can be tried: on
//! one question ([`trial`]), on the questions that were asked before ([`backtest`]) or on those that come
//! ([`shadow`]). The last two read decisions as they are recorded ([`recorded`]) in one [`walk`] and count how many would
//! be others ([`flips`]). `watchbell policy replay` makes the same decisions again without a server.
//! [`body`] is what is told over HTTP.
//! The data plane (`decisions`) hears of all this through the journal; `domain::policies` has the rules.

pub mod backtest;
mod body;
mod change;
mod checks;
pub mod diff;
pub mod flips;
pub mod recorded;
mod schema;
pub mod shadow;
pub mod standing;
pub mod starter;
mod tell;
pub mod templates;
pub mod trial;
pub mod validate;
pub mod versions;
mod walk;
